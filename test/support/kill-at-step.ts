import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { StatementSync } from "node:sqlite";
import pg from "pg";

/**
 * Loaded before Keystead (`NODE_OPTIONS=--import=…`): the process kills itself after the durable step that KILL_AT_STEP numbers.
 * Steps are files that come into place or go, and commits, in either engine.
 */

const killAt = Number(process.env.KILL_AT_STEP);
let steps = 0;

function step(): void {
  steps++;
  if (steps === killAt) process.kill(process.pid, "SIGKILL");
}

type AnyFunction = (...args: never[]) => unknown;

/** Puts a function in the place of another that does the same and then counts. */
function counting<F extends AnyFunction>(original: F, counts: (self: unknown, args: Parameters<F>) => boolean): F {
  return function (this: unknown, ...args: Parameters<F>): unknown {
    const result = original.apply(this, args);
    if (!counts(this, args)) return result;
    if (!(result instanceof Promise)) {
      step();
      return result;
    }
    return result.then((value) => {
      step();
      return value;
    });
  } as unknown as F;
}

fs.renameSync = counting(fs.renameSync, () => true);
fs.rmSync = counting(fs.rmSync, () => true);
syncBuiltinESMExports();

const isCommit = (self: unknown): boolean => /(^|; )commit$/.test((self as StatementSync).sourceSQL);
StatementSync.prototype.run = counting(StatementSync.prototype.run, isCommit) as StatementSync["run"];
StatementSync.prototype.all = counting(StatementSync.prototype.all, isCommit) as StatementSync["all"];

type Query = (query: { text?: string }) => unknown;
const client = pg.Client.prototype as unknown as { query: Query };
client.query = counting(client.query, (_self, [query]) => /(^|; )commit$/.test(query?.text ?? ""));
