import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { formatCidr } from "../kernel/ip-address.ts";
import { loadConfig, StartProblem } from "./config.ts";

const folder = mkdtempSync(join(tmpdir(), "keystead-config-"));
after(() => rmSync(folder, { recursive: true }));
const refusal = (load: () => unknown, expected: RegExp) =>
  assert.throws(load, (error) => error instanceof StartProblem && expected.test(error.message));

describe("names of settings", () => {
  // `{"__proto__":1}` is an own member, as JSON.parse makes it.
  for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty", "prot"]) {
    it(`do not include ${name}`, () => {
      const file = join(folder, `${name}.json`);
      writeFileSync(file, `{"${name}":{}}`);
      refusal(() => loadConfig({}, file), new RegExp(`unknown setting \`${name}\`; known are host`));
    });
  }
});

describe("lists", () => {
  it("of numbers and of texts are told apart", () => {
    const { webhooks, trustedProxies } = loadConfig({
      KEYSTEAD_WEBHOOK_RETRY_SECONDS: "0, 0.5,60",
      KEYSTEAD_TRUSTED_PROXIES: "10.0.0.1, 192.168.7.9/16,fd00::/8",
    });
    assert.deepEqual(webhooks.retryDelaysMs, [0, 500, 60_000]);
    assert.deepEqual(trustedProxies.map(formatCidr), ["10.0.0.1/32", "192.168.0.0/16", "fd00::/8"]);
  });

  it("of trusted proxies are empty unless given", () => assert.deepEqual(loadConfig({}).trustedProxies, []));

  for (const bad of ["proxy.example.com", "10.0.0.0/8,", "10.0.0.0/33", "0.0.0.0/0", "::/0", "loopback", "1"]) {
    it(`of trusted proxies do not take ${bad}`, () => {
      refusal(
        () => loadConfig({ KEYSTEAD_TRUSTED_PROXIES: bad }),
        /bad value for KEYSTEAD_TRUSTED_PROXIES .*`trustedProxies`/,
      );
    });
  }
});

describe("the form of activities' times", () => {
  const activityTimes = (value?: string) =>
    loadConfig(value === undefined ? {} : { KEYSTEAD_ACTIVITY_TIMES: value }).activityTimes;

  it("goes by the client unless said otherwise", () => {
    assert.equal(activityTimes(), "auto");
    for (const form of ["auto", "text", "object"]) assert.equal(activityTimes(form), form);
  });

  it("is none but these", () => {
    for (const bad of ["TEXT", "objects", "rfc3339"]) {
      refusal(() => activityTimes(bad), /bad value for KEYSTEAD_ACTIVITY_TIMES \(`activityTimes`\)/);
    }
  });
});

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
