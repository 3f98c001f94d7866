import crypto from "node:crypto";
import { Session } from "node:inspector";
import { syncBuiltinESMExports } from "node:module";
import { StatementSync } from "node:sqlite";
import { secp256k1 } from "../../src/crypto/secp256k1.ts";
import { shortestPieces } from "../../src/kernel/turns.ts";

/**
 * How much work is done at a time, counted and not measured: how often each block of code ran between two rounds of the event loop, and
 * what was asked of native code. A slow machine counts what a fast one does. A unit is a block of code that runs, or as much of
 * what native code does, by what was measured of that: about five nanoseconds.
 */

/**
 * What is not looked at more closely: turns that use less of the processor than this are counted together. To read the counts goes
 * through all of V8's heap and takes longer than this.
 */
const SHORT_MS = 20;

/** Of native code, by what was asked of it. */
let native = new Map<string, number>();
let isCounting = false;
let session: Session | undefined;

interface Range {
  count: number;
}
interface Coverage {
  result: { url: string; functions: { functionName: string; ranges: Range[] }[] }[];
}

function ask<Answer>(method: string, parameters?: object): Answer {
  let answer: Answer | undefined;
  (session as unknown as { post: (...args: unknown[]) => void }).post(
    method,
    parameters,
    (error: Error | null, result: Answer) => {
      if (error) throw error;
      answer = result;
    },
  );
  return answer as Answer;
}

/** Begins to count; what runs from now on runs slowly. It is for a whole file of tests, before the server starts. */
export function countWork(): void {
  session = new Session();
  session.connect();
  ask("Profiler.enable");
  ask("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  weighNativeCode();
}

/** Code of ours and of what it is built on, not the tests' own. */
const isServers = (url: string): boolean => /\/(?:src|node_modules)\//.test(url) && !url.includes("/test/");

const usedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

export interface Hold {
  units: number;
  /** What most of them went into. */
  where: string[];
}

/** The most that was done between two rounds of the event loop while `work` was under way, with pieces as short as they can be. */
export async function mostUnitsAtOnce(work: () => Promise<void>): Promise<Hold> {
  const restore = shortestPieces();
  let most: Hold = { units: 0, where: [] };
  let isDone = false;
  const take = () => {
    const { result } = ask<Coverage>("Profiler.takePreciseCoverage");
    const hold = holdOf(result, native);
    native = new Map();
    return hold;
  };
  take();
  isCounting = true;
  let last = usedMs();
  const looking = new Promise<void>((resolve) => {
    const look = () => {
      if (usedMs() - last >= SHORT_MS || isDone) {
        const hold = take();
        if (hold.units > most.units) most = hold;
        last = usedMs();
      }
      if (isDone) resolve();
      else setImmediate(look);
    };
    setImmediate(look);
  });
  try {
    await work();
  } finally {
    isDone = true;
    await looking;
    isCounting = false;
    restore();
  }
  return most;
}

function holdOf(result: Coverage["result"], nativeUnits: ReadonlyMap<string, number>): Hold {
  const parts = [...nativeUnits].map(([name, units]) => ({ name, units }));
  for (const { url, functions } of result) {
    if (!isServers(url)) continue;
    const file = url.slice(url.lastIndexOf("/", url.lastIndexOf("/") - 1) + 1);
    for (const { functionName, ranges } of functions) {
      const units = ranges.reduce((sum, { count }) => sum + count, 0);
      if (units > 0) parts.push({ name: `${functionName} (${file})`, units });
    }
  }
  parts.sort((one, other) => other.units - one.units);
  return {
    units: Math.round(parts.reduce((sum, { units }) => sum + units, 0)),
    where: parts.slice(0, 5).map(({ name, units }) => `${name}: ${Math.round(units)}`),
  };
}

/** A call of native code counts for what it takes. */
function weigh<Name extends string>(
  owner: Record<Name, unknown>,
  name: Name,
  unitsOf: (answer: unknown, parameters: readonly unknown[]) => number,
): void {
  const original = owner[name] as (...parameters: unknown[]) => unknown;
  owner[name] = function weighed(this: unknown, ...parameters: unknown[]): unknown {
    const answer = original.apply(this, parameters);
    if (isCounting) native.set(name, (native.get(name) ?? 0) + unitsOf(answer, parameters));
    return answer;
  };
}

/**
 * What native code takes: for a product of a point of a curve or a signature, for a point or a scalar that is read, for a statement and
 * each of its rows, ...
 */
const POINT_UNITS = 4000;
const READ_POINT_UNITS = 1000;
const READ_SCALAR_UNITS = 100;
const STATEMENT_UNITS = 1000;
const ROW_UNITS = 200;
/** ... for a name of a member that no other before it has, for a character that is parsed or written, and for a byte that is hashed. */
const NAME_UNITS = 150;
const PARSED_UNITS = 0.25;
const WRITTEN_UNITS = 0.5;
const HASHED_UNITS = 0.1;

function weighNativeCode(): void {
  const lengthOf = (value: unknown): number => (typeof value === "string" ? value.length : 0);
  const namesIn = (text: unknown): number => new Set(String(text).match(/"[^"]*"\s*:/g)).size;
  weigh(JSON as never, "parse", (_, [text]) => PARSED_UNITS * lengthOf(text) + NAME_UNITS * namesIn(text));
  weigh(JSON as never, "stringify", (text) => WRITTEN_UNITS * lengthOf(text));
  for (const name of ["all", "run", "get"]) {
    const rowsIn = (answer: unknown): number => (Array.isArray(answer) ? answer.length : 1);
    weigh(StatementSync.prototype as never, name, (answer) => STATEMENT_UNITS + ROW_UNITS * rowsIn(answer));
  }
  const hash = crypto.createHash("sha256").constructor.prototype as Record<"update", unknown>;
  weigh(hash, "update", (_, [bytes]) => HASHED_UNITS * (bytes as { length: number }).length);
  for (const name of ["createPublicKey", "createPrivateKey", "sign", "verify", "diffieHellman"]) {
    weigh(crypto as never, name, () => POINT_UNITS);
  }
  weigh(crypto.ECDH as never, "convertKey", () => POINT_UNITS);
  syncBuiltinESMExports();
  const reads: Record<string, number> = {
    publicKeyVerify: READ_POINT_UNITS,
    publicKeyConvert: READ_POINT_UNITS,
    privateKeyVerify: READ_SCALAR_UNITS,
  };
  for (const name of Object.keys(secp256k1)) weigh(secp256k1 as never, name, () => reads[name] ?? POINT_UNITS);
}
