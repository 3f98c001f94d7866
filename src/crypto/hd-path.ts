import { MAX_PATH_LEVELS } from "../kernel/limits.ts";

/** One level of a derivation path; `index` is below 2^31, without the bit that marks a hardened level. */
export interface PathLevel {
  index: number;
  hardened: boolean;
}

/** The longest index, 2147483647, has ten digits. */
const LEVEL = /^(0|[1-9][0-9]{0,9})('?)$/;
const LONGEST_LEVEL = "/2147483647'".length;
const MAX_INDEX = 0x7fffffff;

/**
 * Why `path` is not a derivation path, to follow the name of a field; undefined if it is one. A path is `m`, followed by levels that begin
 * with `/`: a decimal index below 2^31 without leading zeros, and `'` if the level is hardened (BIP-32). `h` and `H` for hardened are not
 * accepted, so that a path has a single spelling. Every curve accepts every path: on Ed25519, which has only hardened levels (SLIP-10), all
 * levels are derived as hardened.
 */
export function pathProblem(path: string): string | undefined {
  if (path.length > 1 + MAX_PATH_LEVELS * LONGEST_LEVEL) return `is longer than any path of ${MAX_PATH_LEVELS} levels`;
  const [root, ...levels] = path.split("/");
  if (root !== "m") return "must begin with `m`, like `m/44'/60'/0'/0/0`";
  if (levels.length > MAX_PATH_LEVELS) return `must have at most ${MAX_PATH_LEVELS} levels after \`m\``;
  for (const [at, level] of levels.entries()) {
    const problem = levelProblem(level);
    if (problem) return `${problem} at level ${at + 1}`;
  }
  return undefined;
}

function levelProblem(level: string): string | undefined {
  const [, digits] = LEVEL.exec(level) ?? [];
  if (digits === undefined) {
    return "must have a decimal index without leading zeros, followed by `'` if the level is hardened,";
  }
  if (Number(digits) > MAX_INDEX) return `has an index over ${MAX_INDEX}`;
  return undefined;
}

/**
 * The levels of a path below the master key; none for `m`.
 *
 * @throws RangeError if `pathProblem` names a problem
 */
export function parsePath(path: string): PathLevel[] {
  const problem = pathProblem(path);
  if (problem) throw new RangeError(`a derivation path ${problem}`);
  return path
    .split("/")
    .slice(1)
    .map((level) => ({ index: Number.parseInt(level, 10), hardened: level.endsWith("'") }));
}
