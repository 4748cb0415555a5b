export { connect, type Connection, isClient, type ValkeyClient } from './connect.js';
export { ValkeyStore, type ValkeyStoreOptions } from './valkey-store.js';
