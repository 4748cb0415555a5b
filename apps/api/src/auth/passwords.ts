import { type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { Injectable } from '@nestjs/common';

interface StoredPassword {
  readonly salt: string;
  readonly hash: string;
}

/** Demonstration users. The passwords are "analytical engine" and "nanoseconds". */
const USERS: Readonly<Record<string, StoredPassword>> = {
  ada: { salt: 'UT3bX1qgcjzNBCNJ3InZdA', hash: 'NCN7TmeRUyQ_Teg4nNfxOBsJvPxtaKcJ_xr-gr_6Dgk' },
  grace: { salt: '6jEMR0nrLkJm2BlP8N4JWw', hash: 'JSHQ0aaLvY4Mvv4YjqthJ_zAcXKTc2hE-_wLM4oj19E' },
};

/** Hashed where there is no such user, so that the time taken does not tell. */
const NOBODY: StoredPassword = { salt: 'AAAAAAAAAAAAAAAAAAAAAA', hash: '' };

const HASH_BYTES = 32;
// Typed by hand: promisify picks the overload without options.
const hashPassword = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

@Injectable()
export class Passwords {
  async match(username: string, password: string): Promise<boolean> {
    const { salt, hash } = Object.hasOwn(USERS, username) ? USERS[username]! : NOBODY;
    const wanted = Buffer.from(hash, 'base64url');
    const given = await hashPassword(password, Buffer.from(salt, 'base64url'), HASH_BYTES, { N: 16_384 });
    return wanted.length === given.length && timingSafeEqual(wanted, given);
  }
}
