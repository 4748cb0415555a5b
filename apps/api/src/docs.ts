import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { API_KEY } from './tenants/for-tenants.js';
import { API_KEY_FIELD } from './tenants/tenant-request.js';

/** What it says of 429 comes from `@RateLimit`. */
export function apiDocument(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('A small multi-tenant API')
    .setDescription('The sample of nestjs-valkey-rate-limit. An API key to try: `acme-demo-key`.')
    .addApiKey({ type: 'apiKey', in: 'header', name: API_KEY_FIELD }, API_KEY)
    .addBearerAuth()
    .build();
  return SwaggerModule.createDocument(app, config);
}

/** The page at /docs, and the document at /docs-json. */
export function serveDocs(app: INestApplication): void {
  SwaggerModule.setup('docs', app, () => apiDocument(app));
}
