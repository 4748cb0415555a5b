/** The part of a key between `{` and `}`, or all of it: keys that share it share a slot of a Cluster. */
export function hashTag(key: string): string {
  const begin = key.indexOf('{');
  return begin === -1 ? key : key.slice(begin + 1, key.indexOf('}', begin));
}
