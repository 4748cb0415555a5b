// The one door to the library's insides, for what runs in a browser: the package's own door needs Nest, and Nest needs
// Node (docs/adr/0015-the-page-runs-the-steps.md). Nothing here does.
export {
  type AlgorithmName,
  compileRule,
  type Rule,
} from '../../../../libs/rate-limit/src/algorithms/index.js';
export { RateLimitConfigError } from '../../../../libs/rate-limit/src/decision/config-error.js';
export type {
  AllowedVerdict,
  DeniedVerdict,
  Verdict,
} from '../../../../libs/rate-limit/src/decision/decision.js';
export { OptionReader } from '../../../../libs/rate-limit/src/decision/option-reader.js';
export { draft11 } from '../../../../libs/rate-limit/src/http/dialects/draft-11.js';
export {
  announce,
  type AnnouncedPolicy,
  type Announcement,
  type CountedDecision,
} from '../../../../libs/rate-limit/src/http/header-dialect.js';
export { type Problem, refuse } from '../../../../libs/rate-limit/src/http/problem.js';
