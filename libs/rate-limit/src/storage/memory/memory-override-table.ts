import type { OverrideTable, Snapshot } from '../override-table.js';

/** Of this process alone. */
export class MemoryOverrideTable implements OverrideTable {
  readonly shared = false;
  readonly #fields = new Map<string, string>();
  #version = 0;

  read(known: string): Promise<Snapshot | undefined> {
    const version = String(this.#version);
    return Promise.resolve(version === known ? undefined : { version, fields: new Map(this.#fields) });
  }

  write(field: string, text: string | undefined, gone: readonly string[], most: number): Promise<boolean> {
    for (const each of gone) this.#fields.delete(each);
    if (text === undefined) this.#fields.delete(field);
    else if (this.#fields.has(field) || this.#fields.size < most) this.#fields.set(field, text);
    else return Promise.resolve(false);
    this.#version += 1;
    return Promise.resolve(true);
  }
}
