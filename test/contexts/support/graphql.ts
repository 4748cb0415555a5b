import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import type { DynamicModule, Type } from '@nestjs/common';
import { GraphQLModule } from '@nestjs/graphql';
import { type AdapterName, type RunningApp, startApp, type StartOptions } from '../../support/app.js';
import { little, type LooseOptions } from '../../support/little.js';

/** What an operation came to, as a client sees it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Record<string, unknown> | null | undefined;
  readonly errors: readonly GraphQLFault[];
}

export interface GraphQLFault {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions: Record<string, unknown>;
}

export function graphqlModule(options: Partial<ApolloDriverConfig> = {}): DynamicModule {
  return GraphQLModule.forRoot<ApolloDriverConfig>({
    driver: ApolloDriver,
    autoSchemaFile: true,
    graphiql: false,
    includeStacktraceInErrorResponses: false,
    ...options,
  });
}

export interface GraphQLSetup {
  readonly graphql?: Partial<ApolloDriverConfig>;
  readonly controllers?: Type[];
  readonly app?: StartOptions;
}

/** Starts an application with resolvers. */
export function startGraphQL(
  adapter: AdapterName,
  limits: LooseOptions,
  resolvers: Type[],
  { graphql, controllers = [], app }: GraphQLSetup = {},
): Promise<RunningApp> {
  const root = little({ limits, imports: [graphqlModule(graphql)], providers: resolvers, controllers });
  return startApp(root, adapter, app);
}

/** Sends an operation. */
export async function ask(
  app: RunningApp,
  query: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await app.fetch('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
  });
  const { data, errors = [] } = (await response.json()) as Omit<Answer, 'status' | 'headers'>;
  return { status: response.status, headers: response.headers, data, errors };
}
