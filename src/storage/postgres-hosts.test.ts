import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PostgresHosts } from "./postgres-hosts.ts";
import { hostsIn, hostsProblem } from "./postgres-urls.ts";

const TWO = "postgres://ada:pass%2Cword@one:5432,[::1]:5433/keys?sslmode=verify-full&target_session_attrs=read-write";

describe("the servers that a URL of PostgreSQL names", () => {
  it("are one each, with the login and what else the URL says", () => {
    assert.deepEqual(hostsIn(TWO), {
      urls: [
        "postgres://ada:pass%2Cword@one:5432/keys?sslmode=verify-full",
        "postgres://ada:pass%2Cword@[::1]:5433/keys?sslmode=verify-full",
      ],
      needsPrimary: true,
    });
  });

  const one = "postgres://ada:pa,ss@one/keys";
  for (const [url, expected] of [
    [one, { urls: [one], needsPrimary: false }],
    [`${one}?target_session_attrs=primary`, { urls: [one], needsPrimary: true }],
    ["postgresql://one,two/keys", { urls: ["postgresql://one/keys", "postgresql://two/keys"], needsPrimary: true }],
    [
      "postgres://one,two/keys?target_session_attrs=any&sslmode=disable",
      { urls: ["postgres://one/keys?sslmode=disable", "postgres://two/keys?sslmode=disable"], needsPrimary: false },
    ],
    ["postgres:///keys?host=/run", { urls: ["postgres:///keys?host=/run"], needsPrimary: false }],
  ] as const) {
    it(`are those of ${url}`, () => {
      assert.deepEqual(hostsIn(url), expected);
      assert.equal(hostsProblem(url), undefined);
    });
  }

  for (const [url, problem] of [
    [
      "postgres://secret@one/keys?target_session_attrs=standby",
      /target_session_attrs= must be read-write, primary or any/,
    ],
    ["postgres://secret@one/keys?sslmode=verify_full", /sslmode= must be one of verify-full, verify-ca, require/],
    ["postgres://secret@one,/keys", /between its commas/],
    [`postgres://secret@${"one,".repeat(8)}nine/keys`, /more than 8 hosts/],
    ["postgres://secret@one:port/keys", /cannot be read/],
    ["postgres:one", /must be like/],
  ] as const) {
    it(`cannot be told of ${url}, and what is wrong is said without repeating it`, () => {
      assert.match(hostsProblem(url) ?? "", problem);
      assert.doesNotMatch(hostsProblem(url) ?? "", /secret/);
    });
  }

  it("are tried in turn, and the one before is left when another serves", () => {
    const hosts = new PostgresHosts(TWO);
    const [first, second] = hostsIn(TWO).urls as readonly [string, string];
    assert.equal(hosts.next, first);
    hosts.noteServing(first);
    hosts.giveUp(first);
    // Several connections break at the same time.
    hosts.giveUp(first);
    assert.equal(hosts.next, second);
    assert.deepEqual([hosts.isLeft(first), hosts.isLeft(second)], [false, true]);
    hosts.noteServing(second);
    assert.deepEqual([hosts.isLeft(first), hosts.isLeft(second)], [true, false]);
    hosts.giveUp(second);
    assert.equal(hosts.next, first);
  });

  it("are refused that write a history from before the latest, unless it is another cluster's", () => {
    const hosts = new PostgresHosts(TWO);
    const cluster = "7300000000000000001";
    hosts.noteTimeline({ cluster, number: 1 });
    hosts.noteTimeline({ cluster, number: 2 });
    assert.throws(() => hosts.noteTimeline({ cluster, number: 1 }), { code: "KEYSTEAD_REPLACED" });
    hosts.noteTimeline(undefined);
    assert.throws(() => hosts.noteTimeline({ cluster, number: 1 }), { code: "KEYSTEAD_REPLACED" });
    hosts.noteTimeline({ cluster: "7300000000000000002", number: 1 });
  });
});
