import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';

/** GraphQL at /graphql: the schema is made of the resolvers, in memory. */
export const graphqlOptions: ApolloDriverConfig = {
  driver: ApolloDriver,
  autoSchemaFile: true,
  graphiql: false, // its page loads scripts from elsewhere
  includeStacktraceInErrorResponses: false,
  preserveHttpStatusForExecutionErrors: false, // or Nest answers 200 where the limiter says 429
  stopOnApplicationShutdown: true, // before that it would wait for open WebSockets, which Nest closes later
};
