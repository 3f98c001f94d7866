import { MAX_CACHED_EXPRESSION_BYTES, MAX_CACHED_EXPRESSIONS } from "../kernel/limits.ts";
import { recentlyUsed } from "../kernel/recently-used.ts";
import type { Budget } from "./budget.ts";
import { compile, type Program } from "./compile.ts";
import { PolicyError } from "./errors.ts";
import type { Scope } from "./schema.ts";
import { sizeOf } from "./typed-tree.ts";

/** Compiled expressions by text and scope. Expressions that do not compile are cached too, as their error. */
export interface ExpressionCache {
  /**
   * The program of an expression, compiled at the first call; for an invalid expression, its error.
   *
   * @throws OutOfBudget
   */
  program<S extends Scope>(source: string, scope: S, budget: Budget): Program<S> | PolicyError;
  readonly size: number;
  readonly bytes: number;
}

type Compiled = Program | PolicyError;

/** The cost, in steps, of compiling one character. */
const STEPS_PER_CHARACTER = 8;
/** The memory of one part of a compiled expression, including its text in the tree and the closures that evaluate it. */
const BYTES_PER_PART = 512;

/** A cache that evicts the least recently used expression if there are too many, or if they use too much memory. */
export function createExpressionCache(
  entries = MAX_CACHED_EXPRESSIONS,
  bytes = MAX_CACHED_EXPRESSION_BYTES,
): ExpressionCache {
  const cacheOf = () => recentlyUsed<Compiled>({ entries: Math.ceil(entries / 3), bytes: bytes / 3, sizeOf: bytesOf });
  // One cache per scope, so that look-ups do not have to build a key from scope and text.
  const caches: Record<Scope, ReturnType<typeof cacheOf>> = {
    consensus: cacheOf(),
    condition: cacheOf(),
    time: cacheOf(),
  };
  const sum = (of: (cache: ReturnType<typeof cacheOf>) => number) =>
    Object.values(caches).reduce((total, cache) => total + of(cache), 0);
  return {
    program<S extends Scope>(source: string, scope: S, budget: Budget): Program<S> | PolicyError {
      const known = caches[scope].get(source) as Program<S> | PolicyError | undefined;
      if (known !== undefined) return known;
      budget.spend(STEPS_PER_CHARACTER * source.length);
      const program = compileOrError(source, scope);
      caches[scope].set(source, program as Compiled);
      return program;
    },
    get size() {
      return sum((cache) => cache.size());
    },
    get bytes() {
      return sum((cache) => cache.bytes());
    },
  };
}

/** The approximate memory of a compiled expression with its text. */
const bytesOf = (compiled: Compiled, source: string): number =>
  2 * source.length + BYTES_PER_PART * (compiled instanceof PolicyError ? 1 : sizeOf(compiled.tree));

function compileOrError<S extends Scope>(source: string, scope: S): Program<S> | PolicyError {
  try {
    return compile(source, scope);
  } catch (error) {
    if (error instanceof PolicyError) return error;
    throw error;
  }
}
