import { expect, test } from '@jest/globals';
import { addressOf, type GrpcCall } from './grpc.js';

test.each([
  ['127.0.0.1:53412', '127.0.0.1'],
  // As gRPC says it: with the port it would be another address.
  ['::1:5341', '::1'],
  ['2001:db8::1:443', '2001:db8::1'],
  ['/run/shop.sock', '/run/shop.sock'],
  ['unknown', 'unknown'],
])('the address of the peer %s is %s', (peer, address) => {
  expect(addressOf({ getPeer: () => peer } as GrpcCall)).toBe(address);
});
