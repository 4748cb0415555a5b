import type { DynamicModule, FactoryProvider } from '@nestjs/common';
import type { RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { AppModule } from '../../apps/api/src/app.module.js';
import { type AdapterName, type RunningApp, startApp } from './app.js';

/** The provider of the options in the sample's `forRootAsync`. */
function optionsProvider(): FactoryProvider<RateLimitModuleOptions> {
  const imports = Reflect.getMetadata('imports', AppModule) as DynamicModule[];
  const providers = imports.flatMap(({ providers: own = [] }) => own) as FactoryProvider[];
  return providers.find(({ useFactory }) => typeof useFactory === 'function')!;
}

/**
 * Starts the sample as it is, with a longer deadline: a machine that is busy with other tests may well need more than
 * 50 ms, and what becomes of a request then is another test's subject.
 *
 * @param valkey where to count; left out: memory
 */
export async function startSample(adapter: AdapterName, valkey?: string): Promise<RunningApp> {
  const { provide, useFactory } = optionsProvider();
  if (valkey !== undefined) process.env['VALKEY_URL'] = valkey;
  try {
    return await startApp(AppModule, adapter, {
      module: (builder) =>
        builder
          .overrideProvider(provide)
          .useFactory({ factory: () => ({ ...useFactory(), deadline: '5s' }) }),
    });
  } finally {
    delete process.env['VALKEY_URL'];
  }
}
