import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import type { Client, TestAnswer } from "../support/client.ts";
import {
  childrenOf,
  isRunning,
  type ServerProcess,
  signerOf,
  spawnServer,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { noSmallDisks } from "../support/small-disk.ts";
import { until } from "../support/until.ts";
import { readyz } from "./load.ts";

/** What becomes of requests when the signer process dies, hangs, or cannot open its root key again. */

const newKey = { privateKeyName: "key", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };

async function createKey(root: Client): Promise<string> {
  const { privateKeys } = await root.result("create_private_keys", { privateKeys: [newKey] });
  return privateKeys[0].privateKeyId;
}

const sign = (root: Client, signWith: string, payload: string): Promise<TestAnswer> =>
  root.submit("sign_raw_payload", {
    signWith,
    payload,
    encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
    hashFunction: "HASH_FUNCTION_SHA256",
  });

const ready = async (server: ServerProcess): Promise<boolean> => (await readyz(server)).status === 200;

function assertUnavailable({ status, body }: TestAnswer): void {
  assert.equal(status, 503, JSON.stringify(body));
  assert.equal(body.code, 14);
  assert.match(body.message, /^the signer is not available: .+; nothing was changed, send the request again$/);
}

describe("a signer that stops", { concurrency: true }, () => {
  it("under load: those in flight are told, writes without it go on, and it comes back", async () => {
    const server = await startServerProcess({ dataDir: temporaryFolder() });
    const { root } = server;
    const key = await createKey(root);
    const { userId } = await root.read("whoami");
    const first = await signerOf(server);
    const signed: TestAnswer[] = [];
    const renamed: TestAnswer[] = [];
    let stop = false;
    const signers = [1, 2, 3, 4].map(async (sender) => {
      for (let count = 0; !stop; count++) signed.push(await sign(root, key, `${sender} ${count}`));
    });
    const renamers = [1, 2].map(async () => {
      while (!stop) renamed.push(await root.submit("update_user_name", { userId, userName: "renamed" }));
    });
    const succeeded = () => signed.filter(({ status }) => status === 200).length;
    await until(() => succeeded() > 20 && renamed.length > 20, "the load");
    process.kill(first, "SIGKILL");
    await until(() => signed.some(({ status }) => status === 503), "a request that is told");
    const before = { signed: succeeded(), renamed: renamed.length };
    await until(() => succeeded() > before.signed + 20 && renamed.length > before.renamed + 20, "the load to go on");
    stop = true;
    await Promise.all([...signers, ...renamers]);

    for (const answer of signed.filter(({ status }) => status !== 200)) assertUnavailable(answer);
    for (const { status, body } of renamed) assert.equal(status, 200, JSON.stringify(body));
    assert.notEqual(await signerOf(server), first);
    await until(() => ready(server), "the server to be ready");
    await server.end("SIGTERM");
  });

  it("with requests in its hands: each is told, nothing of them is stored, and they may be sent again", async () => {
    const server = await startServerProcess({ dataDir: temporaryFolder() });
    const { root } = server;
    const key = await createKey(root);
    const { userId } = await root.read("whoami");
    const signer = await signerOf(server);
    process.kill(signer, "SIGSTOP");
    const body = (payload: string) =>
      root.submitBody("sign_raw_payload", {
        signWith: key,
        payload,
        encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
        hashFunction: "HASH_FUNCTION_SHA256",
      });
    const bodies = Array.from({ length: 8 }, (_, index) => body(`payload ${index}`));
    const open = bodies.map((one) => root.post("/public/v1/submit/sign_raw_payload", one));
    // The signer hangs; what does not need it is answered, and by then the others wait for it.
    for (const userName of ["one", "two", "three", "four", "five"]) {
      await root.result("update_user_name", { userId, userName });
    }
    process.kill(signer, "SIGKILL");
    const answers = await Promise.all(open);
    for (const answer of answers) assertUnavailable(answer);
    assert.ok(answers.some(({ body }) => /stopped while working on this request/.test(body.message)));
    const byType = { filterByType: ["ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2"] };
    assert.deepEqual((await root.read("list_activities", byType)).activities, []);

    await until(() => ready(server), "the signer to be back");
    for (const one of bodies) assert.equal((await root.post("/public/v1/submit/sign_raw_payload", one)).status, 200);
    await server.end("SIGTERM");
  });

  it("again and again while it starts: /readyz says so, and in the end there is one signer", async () => {
    const server = await startServerProcess({ dataDir: temporaryFolder() });
    const { root } = server;
    const key = await createKey(root);
    const seen = new Set<number>();
    for (let kill = 0; kill < 4; kill++) {
      await until(() => childrenOf(server.pid).some((pid) => !seen.has(pid)), "a new signer");
      for (const pid of childrenOf(server.pid)) {
        seen.add(pid);
        process.kill(pid, "SIGKILL");
      }
      // Between two attempts there is time to look.
      await until(async () => {
        const { status, body } = await readyz(server);
        return status === 503 && body.signer === "failed";
      }, "/readyz to say that the signer failed");
    }
    await until(() => ready(server), "the signer to be back");
    // Each end is told once: the first, and those that failed to follow it.
    const told = (text: string) => server.stdout().split(text).length - 1;
    assert.equal(told("the signer is down") + told("the signer could not be restarted"), 4);
    const living = childrenOf(server.pid);
    // A restart that was planned twice would show within the longest pause between the attempts so far.
    const observedUntil = performance.now() + 2500;
    for (let count = 0; performance.now() < observedUntil; count++) {
      assert.equal((await sign(root, key, `up again ${count}`)).status, 200);
      assert.deepEqual(childrenOf(server.pid), living, "no second signer is started beside the first");
    }
    assert.equal(living.length, 1);
    await server.end("SIGTERM");
    assert.ok(!isRunning(living[0] as number));
  });

  it("answering: it is ended at the deadline and replaced", async () => {
    const server = await startServerProcess({ dataDir: temporaryFolder() });
    const { root } = server;
    const key = await createKey(root);
    const signer = await signerOf(server);
    process.kill(signer, "SIGSTOP");
    const start = performance.now();
    assertUnavailable(await sign(root, key, "never"));
    assert.ok(performance.now() - start > 9_000, "it had its time");
    assert.ok(!isRunning(signer));
    await until(() => ready(server), "the signer to be back");
    assert.equal((await sign(root, key, "after all")).status, 200);
    await server.end("SIGTERM");
  });

  it("and does not find its root key: it stays down until the file is back", async () => {
    const dataDir = temporaryFolder();
    const server = await startServerProcess({ dataDir });
    const { root } = server;
    const key = await createKey(root);
    renameSync(`${dataDir}/root.key`, `${dataDir}/root.key.away`);
    process.kill(await signerOf(server), "SIGKILL");
    await until(() => server.stdout().includes("the signer could not be restarted"), "a failed restart");
    assert.match(server.stdout(), /root\.key is missing/);
    const { signer, reasons } = (await readyz(server)).body;
    assert.equal(signer, "failed");
    assert.match(
      reasons?.signer ?? "",
      /^the signer process is down and is being restarted; nothing can be signed: the root key file root\.key is missing/,
    );
    // The server itself ends each that finds no root key, and does not tell of that as of somebody else's doing.
    await until(() => server.stdout().split("the signer could not be restarted").length > 4, "further tries");
    assert.equal(server.stdout().split("the signer is down").length, 2);
    assertUnavailable(await sign(root, key, "without a root key"));
    await root.read("whoami");
    renameSync(`${dataDir}/root.key.away`, `${dataDir}/root.key`);
    await until(() => ready(server), "the signer to be back");
    assert.equal((await sign(root, key, "with it")).status, 200);
    await server.end("SIGTERM");
  });
});

describe("a signer that cannot be started", () => {
  it("ends the start with the reason, and not with the word to send a request again", {
    skip: noSmallDisks(temporaryFolder()),
  }, async () => {
    const dataDir = temporaryFolder();
    const started = spawnServer({
      dataDir,
      shellPrefix: `exec unshare --user --map-root-user --mount sh -c 'mount --bind /dev/null "$(readlink -f /bin/sh)" && exec "$0" "$@"' "$0" "$@"`,
    });
    assert.equal((await started.exited).code, 1);
    assert.equal(started.stderr(), "keystead: the signer process could not be started: spawn /bin/sh EACCES\n");
  });
});

describe("a signer that lives with its server", () => {
  let server: ServerProcess;
  before(async () => {
    server = await startServerProcess({ dataDir: temporaryFolder() });
  });
  after(() => server.end("SIGKILL"));

  it("does not listen to the signals that a terminal sends to both", async () => {
    const key = await createKey(server.root);
    const signer = await signerOf(server);
    process.kill(signer, "SIGINT");
    process.kill(signer, "SIGTERM");
    for (let count = 0; count < 5; count++) assert.equal((await sign(server.root, key, `still ${count}`)).status, 200);
    assert.equal(await signerOf(server), signer);
  });

  it("ends when the server is killed", async () => {
    const signer = await signerOf(server);
    await server.end("SIGKILL");
    await until(() => !isRunning(signer), "the signer to end");
  });
});
