import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { DAY_MS } from "../kernel/durations.ts";
import { formatCidr } from "../kernel/ip-address.ts";
import { POSTGRES_DEFAULTS } from "../storage/postgres-settings.ts";
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
      refusal(() => loadConfig({}, file), new RegExp(`unknown setting \`${name}\`; the known ones are host`));
    });
  }
});

describe("secrets in files of their own", () => {
  const fileWith = (name: string, text: string): string => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  };

  it("are read without the line break at their end", () => {
    const settings = loadConfig({
      KEYSTEAD_ROOT_KEY_PASSPHRASE_FILE: fileWith("passphrase", "correct horse battery staple\n"),
      DATABASE_URL_FILE: fileWith("url", "postgres://keystead:secret@db.internal/keystead"),
      KEYSTEAD_SMTP_URL_FILE: "",
    });
    assert.equal(settings.rootKeyPassphrase, "correct horse battery staple");
    assert.equal(settings.databaseUrl, "postgres://keystead:secret@db.internal/keystead");
  });

  it("stop the start where they cannot be read, with the variable and without a word of what is in them", () => {
    const variable = "KEYSTEAD_ROOT_KEY_PASSPHRASE_FILE";
    const refuse = (path: string, reason: RegExp) =>
      refusal(
        () => loadConfig({ [variable]: path }),
        new RegExp(`^the file that ${variable} names, .*${reason.source}`),
      );
    refuse(join(folder, "nothing-here"), /cannot be read \(ENOENT\)/);
    refuse(folder, /cannot be read \(EISDIR\)/);
    refuse(fileWith("empty", "\n"), /is empty/);
    refuse(fileWith("large", "x".repeat(65_537)), /is larger than 65536 bytes/);
    const short = fileWith("short", "hunter2");
    assert.throws(
      () => loadConfig({ [variable]: short }),
      (error: Error) => /KEYSTEAD_ROOT_KEY_PASSPHRASE/.test(error.message) && !error.message.includes("hunter2"),
    );
  });

  it("are given once, in a file or in the variable", () => {
    const file = fileWith("twice", "correct horse battery staple");
    const both = { KEYSTEAD_ROOT_KEY_PASSPHRASE: "another passphrase", KEYSTEAD_ROOT_KEY_PASSPHRASE_FILE: file };
    refusal(() => loadConfig(both), /are both set; set only one of them/);
  });
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

describe("the origins of pages that may show the frames", () => {
  const originsOf = (text: string) => loadConfig({ KEYSTEAD_FRAME_ORIGINS: text }).frameOrigins;

  it("are those of this machine unless set", () => {
    assert.deepEqual(loadConfig({}).frameOrigins, ["http://localhost:*", "http://127.0.0.1:*"]);
    const given = "https://app.example.com,https://*.example.org:8443,http://localhost:3000";
    assert.deepEqual(originsOf(given), given.split(","));
  });

  for (const bad of [
    "*",
    "https://*",
    "app.example.com",
    "http://app.example.com",
    "https://a.example/path",
    "https://a b",
  ]) {
    it(`are not ${bad}`, () => {
      refusal(() => originsOf(bad), /bad value for KEYSTEAD_FRAME_ORIGINS .*`frameOrigins`/);
    });
  }
  it("break no policy apart", () => {
    refusal(() => originsOf("https://a.example;script-src *"), /bad value for KEYSTEAD_FRAME_ORIGINS/);
  });
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

describe("connections to PostgreSQL", () => {
  it("are as many and as patient as usual, or as the environment says", () => {
    assert.deepEqual(loadConfig({}).postgres, POSTGRES_DEFAULTS);
    const given = {
      KEYSTEAD_POSTGRES_CONNECTIONS: "40",
      KEYSTEAD_POSTGRES_CONNECT_SECONDS: "2",
      KEYSTEAD_POSTGRES_WAIT_SECONDS: "3",
      KEYSTEAD_POSTGRES_STATEMENT_SECONDS: "30",
      KEYSTEAD_POSTGRES_PREPARED: "off",
    };
    assert.deepEqual(loadConfig(given).postgres, {
      connections: 40,
      connectTimeoutMs: 2_000,
      waitMs: 3_000,
      statementTimeoutMs: 30_000,
      prepared: false,
    });
  });

  it("are never too few or without an end, and lead to servers that are of use", () => {
    for (const [name, value] of [
      ["KEYSTEAD_POSTGRES_CONNECTIONS", "1"],
      ["KEYSTEAD_POSTGRES_WAIT_SECONDS", "0"],
      ["KEYSTEAD_POSTGRES_PREPARED", "no"],
      ["DATABASE_URL", "postgres://ada:secret@one,two/keys?target_session_attrs=standby"],
    ] as const) {
      assert.throws(
        () => loadConfig({ [name]: value }),
        ({ message }: Error) => message.startsWith(`bad value for ${name} `) && !message.includes("secret"),
      );
    }
  });
});

describe("the lease of jobs", () => {
  const leaseOf = (KEYSTEAD_JOB_LEASE_SECONDS: string) => loadConfig({ KEYSTEAD_JOB_LEASE_SECONDS }).jobs.leaseMs;

  it("is fifteen seconds, or as the environment says, and never none", () => {
    assert.equal(loadConfig({}).jobs.leaseMs, 15_000);
    assert.equal(leaseOf("2"), 2000);
    for (const bad of ["0", "0.5", "301", "soon"]) {
      refusal(() => leaseOf(bad), /bad value for KEYSTEAD_JOB_LEASE_SECONDS \(`jobLeaseSeconds`\)/);
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

describe("where captchas are verified", () => {
  const turnstile = (url: string, more: Record<string, string> = {}) =>
    loadConfig({
      KEYSTEAD_TURNSTILE_URL: url,
      KEYSTEAD_TURNSTILE_SITE_KEY: "site",
      KEYSTEAD_TURNSTILE_SECRET: "secret",
      ...more,
    }).turnstile?.url;

  it("is a URL by https, or on a network of the operator's own", () => {
    for (const url of ["https://captcha.example/verify", "http://10.0.0.7:8080"]) assert.equal(turnstile(url), url);
    const plain = "http://captcha.example";
    assert.equal(turnstile(plain, { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" }), plain);
    for (const bad of [plain, "https://user:pass@captcha.example", "https://"]) {
      refusal(() => turnstile(bad), /bad value for KEYSTEAD_TURNSTILE_URL \(`turnstileUrl`\): it /);
    }
  });
});

describe("what is kept for a while", () => {
  const load = (retention: object) => {
    const file = join(folder, "retention.json");
    writeFileSync(file, JSON.stringify({ retention }));
    return loadConfig({}, file).retention;
  };

  it("is kept for 30 days, each kind for as long as the file says", () => {
    assert.deepEqual(loadConfig({}).retention, { webhookEventsMs: 30 * DAY_MS, mailEventsMs: 30 * DAY_MS });
    assert.deepEqual(load({ webhookEvents: 1 }), { webhookEventsMs: DAY_MS, mailEventsMs: 30 * DAY_MS });
    assert.deepEqual(load({ mailEvents: 3650 }), { webhookEventsMs: 30 * DAY_MS, mailEventsMs: 3650 * DAY_MS });
  });

  it("is refused where it is no number of days, or shorter than a message may take", () => {
    for (const bad of [
      { webhookEvents: 0 },
      { mailEvents: 6 },
      { webhookEvents: 3651 },
      { webhookEvents: "30" },
      { x: 1 },
    ]) {
      refusal(() => load(bad), /^bad value for `retention`: .+ "mailEvents", .* at least 7\. /);
    }
  });
});

describe("quotas of organizations", () => {
  const load = (quotas: object) => {
    const file = join(folder, "quotas.json");
    writeFileSync(file, JSON.stringify({ quotas }));
    return loadConfig({}, file).quotas;
  };

  it("are as usual where nothing else is said, and any number of what need not be bounded", () => {
    const usual = {
      users: 100,
      privateKeys: 1000,
      wallets: 100,
      interfaceBytes: 16 * 1024 * 1024,
      subOrganizations: null,
      activitiesPerMonth: null,
      activityBytesPerMonth: null,
    };
    assert.deepEqual(loadConfig({}).quotas, usual);
    const given = { users: 0, wallets: 10_000, activitiesPerMonth: 5, subOrganizations: null };
    assert.deepEqual(load(given), { ...usual, ...given });
  });

  for (const bad of [{ users: 1001 }, { users: null }, { users: -1 }, { wallets: 1.5 }, { hats: 1 }]) {
    it(`do not include ${JSON.stringify(bad)}`, () => {
      refusal(() => load(bad), /^bad value for `quotas`: .+ "users" \(100; up to 1000\), /);
    });
  }
});

describe("the domain of deployments' apps", () => {
  const load = (domain: string, publicUrl: string | undefined, runner: object = { runner: "local" }) => {
    const file = join(folder, "apps.json");
    writeFileSync(file, JSON.stringify({ tvc: { domain, ...runner } }));
    return loadConfig(publicUrl === undefined ? {} : { KEYSTEAD_PUBLIC_URL: publicUrl }, file).tvc.domain;
  };

  // A browser gives a page the passkeys of every host that the page's own is below (WebAuthn Level 3, section 5.1.3).
  for (const domain of ["keystead.example.com", "apps.keystead.example.com"]) {
    it(`is not ${domain} where the console is at keystead.example.com`, () => {
      for (const url of ["https://keystead.example.com", "https://Keystead.Example.com.:8443/"]) {
        refusal(
          () => load(domain, url),
          /^bad value for `tvc`: `domain` is the domain of `publicUrl` or below it, so pages of apps could ask for passkeys/,
        );
      }
      assert.equal(load(domain, "https://keystead.example.com", {}), domain);
    });
  }

  for (const [domain, url] of [
    ["apps.example.com", "https://keystead.example.com"],
    ["evilkeystead.example.com", "https://keystead.example.com"],
    ["tvc.localhost", "http://localhost:8080"],
    ["tvc.localhost", undefined],
  ] as const) {
    it(`may be ${domain} where clients reach ${url}`, () => assert.equal(load(domain, url), domain));
  }
});

describe("a setting that does not fit", () => {
  const inFile = (text: string) => {
    const file = join(folder, "unfit.json");
    return () => {
      writeFileSync(file, text);
      return loadConfig({}, file);
    };
  };
  const setting = (name: string, value: unknown) => inFile(JSON.stringify({ [name]: value }));
  const variable = (name: string, value: string) => () => loadConfig({ [name]: value });
  const cases: [name: string, load: () => unknown, expected: RegExp][] = [
    [
      "an unknown name in the middle",
      setting("quotas", { user: 5 }),
      /: `quotas\.user` is unknown; the known ones are users, privateKeys, wallets, /,
    ],
    [
      "one beside others that are missing",
      setting("backup", { foo: 1 }),
      /: `backup\.foo` is unknown; the known ones are every, keep, directory, encryptTo\. /,
    ],
    [
      "a number in the middle",
      setting("backup", { every: 10, keep: 1, directory: "/b" }),
      /: `backup\.every` must be an integer from 60 to 2592000\. /,
    ],
    [
      "one that may be null",
      setting("quotas", { subOrganizations: "many" }),
      /: `quotas\.subOrganizations` must be an integer from 0 to \d+ or null\. /,
    ],
    ["a part of a list", setting("trustedProxies", ["10.0.0.1", 5]), /: `trustedProxies\.1` must be string\. /],
    [
      "a number out of its range",
      variable("KEYSTEAD_SHUTDOWN_DELAY_SECONDS", "-1"),
      /^bad value for KEYSTEAD_SHUTDOWN_DELAY_SECONDS \(`shutdownDelaySeconds`\): must be an integer from 0 to 600\. /,
    ],
    [
      "none of a few",
      variable("KEYSTEAD_LOG_LEVEL", "loud"),
      /: must be one of trace, debug, info, warn, error, fatal, /,
    ],
    ["neither true nor false", variable("KEYSTEAD_CONSOLE", "yes"), /: must be true or false\. /],
    ["JSON that lacks something", inFile('{\n  "port": 1\n  "host": 2\n}'), /is not valid JSON: see line 3 column 3$/],
    ["JSON with a word in it", inFile('{\n  "port": hunter2\n}'), /is not valid JSON: see line 2$/],
    ["JSON that is cut off", inFile('{ "port": '), /is not valid JSON: see its end$/],
  ];
  for (const [name, load, expected] of cases) {
    it(`is named with what would: ${name}`, () => refusal(load, expected));
  }
});
