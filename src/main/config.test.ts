import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadConfig, StartProblem } from "./config.ts";

describe("the seed cache of the signer", () => {
  const seedCache = (entries?: string, seconds?: string) =>
    loadConfig({
      ...(entries === undefined ? {} : { KEYSTEAD_SIGNER_SEED_CACHE_ENTRIES: entries }),
      ...(seconds === undefined ? {} : { KEYSTEAD_SIGNER_SEED_CACHE_SECONDS: seconds }),
    }).seedCache;

  it("has bounds by default", () => {
    assert.deepEqual(seedCache(), { entries: 10_000, lifetimeMs: 300_000 });
  });

  it("takes those of the environment, and can be switched off", () => {
    assert.deepEqual(seedCache("5", "60"), { entries: 5, lifetimeMs: 60_000 });
    assert.deepEqual(seedCache("0", "0"), { entries: 0, lifetimeMs: 0 });
  });

  it("takes no other numbers, and says which setting is wrong", () => {
    for (const bad of ["-1", "1.5", "many", "100001", "1e3"]) {
      const named = (error: unknown) =>
        error instanceof StartProblem && /KEYSTEAD_SIGNER_SEED_CACHE_ENTRIES/.test(error.message);
      assert.throws(() => seedCache(bad), named, bad);
    }
    for (const bad of ["-1", "0.5", "86401"]) {
      const named = (error: unknown) =>
        error instanceof StartProblem && /KEYSTEAD_SIGNER_SEED_CACHE_SECONDS/.test(error.message);
      assert.throws(() => seedCache("1", bad), named, bad);
    }
  });
});
