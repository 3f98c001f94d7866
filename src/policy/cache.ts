import { MAX_CACHED_EXPRESSION_LENGTH, MAX_CACHED_EXPRESSIONS } from "../kernel/limits.ts";
import { compile, type Program } from "./compile.ts";
import { PolicyError } from "./errors.ts";
import type { Scope } from "./schema.ts";

/** Compiled expressions by text and scope. What does not compile is remembered too, as the error it gave. */
export interface ExpressionCache {
  /** The program of an expression, compiled at the first call; for one that is not valid, what is wrong with it. */
  program<S extends Scope>(source: string, scope: S): Program<S> | PolicyError;
  readonly size: number;
}

/** A cache that drops the least recently used expression when there are too many, or their texts are too long together. */
export function createExpressionCache(
  maxEntries = MAX_CACHED_EXPRESSIONS,
  maxCharacters = MAX_CACHED_EXPRESSION_LENGTH,
): ExpressionCache {
  // A map yields its keys in the order of insertion, so the first is the least recently used. One map for each scope
  // spares joining scope and text into a key at every look-up.
  const entries: Record<Scope, Map<string, unknown>> = {
    consensus: new Map(),
    condition: new Map(),
    time: new Map(),
  };
  const bounds = { entries: Math.ceil(maxEntries / 3), characters: Math.ceil(maxCharacters / 3) };
  const characters: Record<Scope, number> = { consensus: 0, condition: 0, time: 0 };

  return {
    program<S extends Scope>(source: string, scope: S): Program<S> | PolicyError {
      const ofScope = entries[scope];
      const known = ofScope.get(source);
      if (known !== undefined) {
        ofScope.delete(source);
        ofScope.set(source, known);
        return known as Program<S> | PolicyError;
      }
      const program = compileOrError(source, scope);
      if (source.length <= bounds.characters) {
        ofScope.set(source, program);
        characters[scope] += source.length;
        evict(scope);
      }
      return program;
    },
    get size() {
      return entries.consensus.size + entries.condition.size + entries.time.size;
    },
  };

  function evict(scope: Scope): void {
    const ofScope = entries[scope];
    for (const source of ofScope.keys()) {
      if (ofScope.size <= bounds.entries && characters[scope] <= bounds.characters) return;
      ofScope.delete(source);
      characters[scope] -= source.length;
    }
  }
}

function compileOrError<S extends Scope>(source: string, scope: S): Program<S> | PolicyError {
  try {
    return compile(source, scope);
  } catch (error) {
    if (error instanceof PolicyError) return error;
    throw error;
  }
}
