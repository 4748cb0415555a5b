import type { ContextAdapter } from './context-adapter.js';
import { graphql } from './graphql.js';
import { http } from './http.js';
import { rpc } from './rpc.js';
import { ws } from './ws.js';

/** Every kind of calls that can be limited. Those of others pass. */
export const contexts: readonly ContextAdapter[] = [http, graphql, ws, rpc];
