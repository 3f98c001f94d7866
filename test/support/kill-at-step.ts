import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { StatementSync } from "node:sqlite";
import pg from "pg";

/**
 * Loaded before Keystead (`NODE_OPTIONS=--import=…`): the process kills itself after the durable step that KILL_AT_STEP numbers,
 * or names by the beginning of a file's name; with KILL_SIGNAL it sends itself another signal than SIGKILL. Steps are files that
 * come into place or go, and commits, in either engine.
 */

const { KILL_AT_STEP: killAt = "", KILL_SIGNAL: signal = "SIGKILL" } = process.env;
let steps = 0;

function step(name: string): void {
  steps++;
  const isNamed = !/^[0-9]*$/.test(killAt) && name.includes(`/${killAt}`);
  if (String(steps) === killAt || isNamed) process.kill(process.pid, signal);
}

type AnyFunction = (...args: never[]) => unknown;

/** Puts a function in the place of another that does the same and then counts, if that was a step. */
function counting<F extends AnyFunction>(
  original: F,
  nameOf: (self: unknown, args: Parameters<F>) => string | undefined,
): F {
  return function (this: unknown, ...args: Parameters<F>): unknown {
    const result = original.apply(this, args);
    const name = nameOf(this, args);
    if (name === undefined) return result;
    if (!(result instanceof Promise)) {
      step(name);
      return result;
    }
    return result.then((value) => {
      step(name);
      return value;
    });
  } as unknown as F;
}

fs.renameSync = counting(fs.renameSync, (_self, [, to]) => String(to));
fs.linkSync = counting(fs.linkSync, (_self, [, to]) => String(to));
fs.rmSync = counting(fs.rmSync, (_self, [path]) => `without ${path}`);
syncBuiltinESMExports();

const commitIn = (sql: string): string | undefined => (/(^|; )commit$/.test(sql) ? "commit" : undefined);
const commitOf = (self: unknown): string | undefined => commitIn((self as StatementSync).sourceSQL);
StatementSync.prototype.run = counting(StatementSync.prototype.run, commitOf) as StatementSync["run"];
StatementSync.prototype.all = counting(StatementSync.prototype.all, commitOf) as StatementSync["all"];

type Query = (query: { text?: string }) => unknown;
const client = pg.Client.prototype as unknown as { query: Query };
client.query = counting(client.query, (_self, [query]) => commitIn(query?.text ?? ""));
