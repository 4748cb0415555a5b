import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach } from '@jest/globals';
import { context, type Span, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { AdapterName, App, StartOptions } from '../../support/app.js';

const providers: BasicTracerProvider[] = [];

afterEach(async () => {
  trace.disable();
  context.disable();
  await Promise.all(providers.splice(0).map((provider) => provider.shutdown()));
});

/** Begins to trace, until the test has ended: what is exported is told by the real SDK. */
export function record(sampler?: Sampler): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(sampler && { sampler }),
  });
  providers.push(provider);
  const manager = new AsyncLocalStorageContextManager().enable();
  if (!context.setGlobalContextManager(manager)) throw new Error('There is another manager of contexts.');
  if (!trace.setGlobalTracerProvider(provider)) throw new Error('There is another provider of tracers.');
  return exporter;
}

interface Hooked {
  addHook(
    name: 'onRequest',
    hook: (request: { raw: IncomingMessage }, reply: { raw: ServerResponse }, done: () => void) => void,
  ): void;
}

/** A span for each request, named after its client, as instrumentation makes one: it is active for all that follows. */
export function spanned(adapter: AdapterName, began?: (span: Span) => void): StartOptions {
  const within = (request: IncomingMessage, response: ServerResponse, next: () => void) => {
    const span = trace.getTracer('test').startSpan(String(request.headers['x-client']));
    began?.(span);
    response.once('close', () => span.end());
    context.with(trace.setSpan(context.active(), span), next);
  };
  return {
    app: (app: App) => {
      if (adapter === 'express') return app.use(within);
      const fastify = app.getHttpAdapter().getInstance() as unknown as Hooked;
      fastify.addHook('onRequest', (request, reply, done) => within(request.raw, reply.raw, done));
    },
  };
}

/** What was told of decisions on a span. */
export function decisionsOn(span: ReadableSpan) {
  return span.events.map(({ name, attributes }) => ({ name, ...attributes }));
}
