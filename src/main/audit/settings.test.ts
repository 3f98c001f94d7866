import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { auditSettingsOf } from "./settings.ts";

const refuse = (problem: string): never => {
  throw new Error(problem);
};
const read = (given: Parameters<typeof auditSettingsOf>[0]) => auditSettingsOf(given, undefined, false, refuse);

describe("settings of the audit stream", () => {
  it("are nothing unless given", () => assert.equal(read(undefined), undefined));

  for (const [what, given, problem] of [
    ["no sink", { whenFull: "drop" }, /has no sink/],
    ["no rule", { file: { path: "/a" } }, /`whenFull` is missing/],
    ["a relative path", { file: { path: "audit.ndjson" }, whenFull: "drop" }, /`file\.path` must be an absolute path/],
    [
      "plain http to anybody",
      { https: { url: "http://example.com/" }, whenFull: "drop" },
      /`https\.url` must use https/,
    ],
    [
      "a path in an address",
      { syslog: { address: "tcp://host/path" }, whenFull: "drop" },
      /`syslog\.address` must be udp/,
    ],
    [
      "a user in an address",
      { syslog: { address: "udp://me@host" }, whenFull: "drop" },
      /`syslog\.address` must be udp/,
    ],
  ] as const) {
    it(`refuse ${what}`, () => assert.throws(() => read(given), { message: problem }));
  }

  for (const [text, address] of [
    ["udp://logs.example.com", { by: "udp", host: "logs.example.com", port: 514 }],
    ["tcp://logs.example.com", { by: "tcp", host: "logs.example.com", port: 601 }],
    ["tcp://[::1]:5514/", { by: "tcp", host: "::1", port: 5514 }],
    ["unix:/run/log", { by: "unix", path: "/run/log" }],
    ["unix:///run/log", { by: "unix", path: "/run/log" }],
  ] as const) {
    it(`take the address ${text}`, () =>
      assert.deepEqual(read({ syslog: { address: text }, whenFull: "block" })?.syslog?.address, address));
  }
});
