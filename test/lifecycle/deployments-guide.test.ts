import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { promisify } from "node:util";
import { Turnkey } from "@turnkey/sdk-server";
import { newOperator, PROGRAM_PATH } from "../support/deployments.ts";
import { examplesIn, runExample } from "../support/guide.ts";
import { reservePort, usersOfTests } from "../support/ports.ts";
import { httpProgram, programFolder, requestAs } from "../support/program.ts";
import { pushImage } from "../support/registry.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { KEYSTEAD } from "../support/server-process.ts";

/** The example of the guide, run as it stands there with the published client, and its command. */

const [example = ""] = examplesIn("deployments")("From the program to an answer");
const [, command = ""] =
  /^npx keystead (.*)\n$/.exec(examplesIn("deployments")("What is checked, and by whom", "sh")[0] ?? "") ?? [];
const vectors = new URL("../vectors/manifests/v1-envelope.json", import.meta.url).pathname;

const folder = programFolder();
let server: TestServer;
before(async () => {
  server = await startTestServer("sqlite", {
    tvc: { runner: "local", directory: folder.directory, ...(await usersOfTests()) },
  });
});
after(async () => {
  await server.close();
  folder.remove();
});

const verify = (file: string) =>
  promisify(execFile)(process.execPath, [KEYSTEAD, ...command.split(" ").slice(0, -1), file]);

it("deploys a program, has it approved, and calls it", async () => {
  const { baseUrl, organizationId, key } = server.root;
  const client = new Turnkey({
    apiBaseUrl: baseUrl,
    apiPublicKey: key.publicKey,
    apiPrivateKey: key.privateKey,
    defaultOrganizationId: organizationId,
  }).apiClient();
  const program = httpProgram(folder.node, "greeter");
  const given = {
    client,
    createHash,
    quorumPublicKey: newOperator().publicKey,
    alice: newOperator("Alice"),
    holders: [newOperator("Bob"), newOperator("Carol")].map(({ name, publicKey }) => ({ name, publicKey })),
    image: (await pushImage([[{ name: PROGRAM_PATH.slice(1), content: program }]])).byTag,
    programSha256: createHash("sha256").update(program).digest("hex"),
    port: await reservePort(),
    get: (host: string, path: string) => requestAs(server.baseUrl, host, path),
  };
  const { answer, manifest } = await runExample(example, given, "answer, manifest");
  assert.equal(answer.status, 201);
  assert.deepEqual([answer.body.name, answer.body.args], ["greeter", ["--greeting", "hello"]]);

  const file = join(folder.folder, "manifest.json");
  writeFileSync(file, manifest);
  const verified = JSON.parse((await verify(file)).stdout);
  assert.equal(verified.schema, "v2");
  assert.equal(verified.hash, createHash("sha256").update(manifest).digest("hex"));
  assert.equal(verified.pivot.hash, given.programSha256);
  assert.deepEqual(verified.manifestSet, { threshold: 1, members: ["Alice"] });
  assert.equal("approvals" in verified, false);
});

it("verifies an envelope v1 with its exact hash, and fails where something is missing or unknown", async () => {
  const verified = JSON.parse((await verify(vectors)).stdout);
  assert.equal(verified.schema, "v1");
  assert.equal(verified.hash, "021028da9d6d07121a1807f0f0351d76bb9b6a44e63a13e8246ae50850f58e3d");
  assert.equal(verified.approvals.reached, true);
  const envelope = JSON.parse(readFileSync(vectors, "utf8"));
  const file = join(folder.folder, "envelope.json");
  writeFileSync(file, JSON.stringify({ ...envelope, manifestSetApprovals: [] }));
  await assert.rejects(verify(file), ({ code, stdout }: { code: number; stdout: string }) => {
    return code === 1 && JSON.parse(stdout).approvals.reached === false;
  });
  const { manifest } = envelope;
  const edited = JSON.stringify({
    ...envelope,
    manifest: { ...manifest, namespace: { ...manifest.namespace, nonce: 1 } },
  });
  writeFileSync(file, edited);
  await assert.rejects(verify(file), ({ code, stdout }: { code: number; stdout: string }) => {
    const { hash, approvals } = JSON.parse(stdout);
    return code === 1 && hash !== verified.hash && approvals.approvals[0].verdict === "invalid signature";
  });
  const text = readFileSync(vectors, "utf8");
  const refused: [string, RegExp][] = [
    [JSON.stringify({ ...envelope, extra: 1 }), /is not a manifest: `envelope\.extra` is not known/],
    [JSON.stringify({ ...envelope, manifest: { ...manifest, extra: 1 } }), /`manifest\.extra` is not known/],
    [
      JSON.stringify({ ...envelope, manifest: { ...manifest, pivot: { ...manifest.pivot, env: {} } } }),
      /`manifest\.pivot\.env` is not known/,
    ],
    [text.replace('"nonce"', '"nonce": 1, "nonce"'), /is not a manifest: .*nonce/],
    [
      text.replace('"manifestSetApprovals"', '"manifestSetApprovals": [], "manifestSetApprovals"'),
      /is not a manifest: .*manifestSetApprovals/,
    ],
    [`${text}{}`, /is not a manifest: .*not valid JSON/],
  ];
  for (const [content, reason] of refused) {
    writeFileSync(file, content);
    await assert.rejects(verify(file), reason);
  }
  await assert.rejects(verify(join(folder.folder, "nothing.json")), /cannot be read \(ENOENT\)/);
});
