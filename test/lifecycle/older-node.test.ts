import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { version } from "../../src/main/version.ts";
import { type ProcessOptions, spawnKeystead, startServerProcess, temporaryFolder } from "../support/server-process.ts";

/** The command as whoever has an older Node runs it: it hands over to the installed Node 24, and warns of nothing. */

/** The first Node of the PATH that is older than 24; npm puts the installed one before it. */
function olderNode(): string | undefined {
  const candidates = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "node"));
  return candidates.filter(existsSync).find((file) => {
    const [, major] = /^v(\d+)\./.exec(execFileSync(file, ["--version"], { encoding: "utf8" })) ?? [];
    return Number(major) >= 20 && Number(major) < 24;
  });
}

const node = olderNode();

/** How it is run; says so where it is the stand-in alone. */
function older(test: TestContext): ProcessOptions {
  if (node !== undefined) return { node };
  test.diagnostic("there is no older Node on the PATH: this one says that it is one");
  return { onOlderNode: true };
}

describe("under an older Node, without a word on stderr,", () => {
  for (const [option, expected] of [
    ["--version", new RegExp(`^${version.replaceAll(".", "\\.")}\n$`)],
    ["--help", /^Usage: keystead /],
  ] as const) {
    it(`${option} is answered`, async (test) => {
      const { exited, stdout, stderr } = spawnKeystead([option], older(test));
      assert.deepEqual(await exited, { code: 0, signal: null });
      assert.match(stdout(), expected);
      assert.equal(stderr(), "");
    });
  }

  it("serve serves and stops", async (test) => {
    const server = await startServerProcess({ dataDir: temporaryFolder(), ...older(test) });
    assert.equal((await server.root.read("whoami")).organizationId, server.credentials.organizationId);
    assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
    assert.equal(server.stderr(), "");
  });

  it("serve stops when the npx that started it is told to stop", {
    skip: node === undefined && "there is no older Node on the PATH",
  }, async () => {
    const settings = { PATH: [dirname(node as string), process.env.PATH].join(delimiter) };
    const server = await startServerProcess({ dataDir: temporaryFolder(), byNpx: true, settings });
    await server.end("SIGTERM");
    assert.match(server.stdout(), /"msg":"stopped"/);
  });
});
