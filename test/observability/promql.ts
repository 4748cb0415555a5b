/** A metric as an expression asks for it, with what it wants to be in its labels. */
export interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
}

export interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

export interface Expression {
  readonly selectors: readonly Selector[];
  /** Labels that it groups or joins by. */
  readonly grouped: readonly string[];
}

/** A text, a number or a duration, a name, an operator, or a character of its own. */
const TOKEN = /"(?:[^"\\]|\\.)*"|\d[\w.]*|[a-zA-Z_:][\w:]*|[=!]~|[=!<>]=|\S/g;
const NAME = /^[a-zA-Z_:]/;
const GROUPS = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right']);
const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'atan2', 'inf', 'nan']);

/**
 * Which names an expression of Prometheus uses. It has to be one that Prometheus can read, without comments and with texts
 * in double quotes.
 */
export function readExpression(expression: string): Expression {
  const tokens: readonly string[] = expression.match(TOKEN) ?? [];
  const selectors: Selector[] = [];
  const grouped: string[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const [token, next] = [tokens[at]!, tokens[at + 1]];
    if (token === '[') at = tokens.indexOf(']', at);
    else if (!NAME.test(token) || WORDS.has(token)) continue;
    else if (GROUPS.has(token)) {
      if (next !== '(') continue;
      const end = tokens.indexOf(')', at);
      grouped.push(...tokens.slice(at + 2, end).filter((each) => each !== ','));
      at = end;
    } else if (next !== '(' && !GROUPS.has(next ?? '')) {
      const end = next === '{' ? tokens.indexOf('}', at) : at;
      selectors.push({ metric: token, matchers: readMatchers(tokens.slice(at + 2, end)) });
      at = end;
    }
  }
  return { selectors, grouped };
}

function readMatchers(tokens: readonly string[]): Matcher[] {
  const words = tokens.filter((each) => each !== ',');
  return Array.from({ length: words.length / 3 }, (_, index) => {
    const [label, operator, value] = words.slice(3 * index, 3 * index + 3) as [string, string, string];
    return { label, operator, value: JSON.parse(value) as string };
  });
}
