import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs, { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { FolderInUse, type LockHolder, ServerLock } from "./server-lock.ts";

const folder = mkdtempSync(join(tmpdir(), "keystead-lock-"));
after(() => rmSync(folder, { recursive: true }));

const holder: LockHolder = { command: "serve", pid: process.pid, host: "here", since: "2026-01-01T00:00:00.000Z" };
const refusal = (expected: LockHolder | undefined) => (error: unknown) => {
  assert.ok(error instanceof FolderInUse);
  assert.deepEqual(error.holder, expected);
  return true;
};

describe("the lock of a folder", () => {
  it("is one process's, which tells who it is and later where", () => {
    const lock = ServerLock.take(folder, holder);
    assert.throws(() => ServerLock.take(folder, { ...holder, pid: 1 }), refusal(holder));
    lock.tellBaseUrl("http://127.0.0.1:1");
    assert.throws(
      () => ServerLock.take(folder, { ...holder, pid: 1 }),
      refusal({ ...holder, baseUrl: "http://127.0.0.1:1" }),
    );
    for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
    lock.release();
    lock.release();
    assert.deepEqual(readdirSync(folder), ["server.lock"], "the name of the holder goes with it");
    ServerLock.take(folder, holder).release();
  });

  it("names nobody while nobody has told", () => {
    const lock = ServerLock.take(folder, holder);
    rmSync(join(folder, "server.lock.json"));
    assert.throws(() => ServerLock.take(folder, holder), refusal(undefined));
    lock.release();
  });

  it("is released where the name of its holder cannot be removed", (test) => {
    const lock = ServerLock.take(folder, holder);
    // The error of a disk that was remounted read-only.
    test.mock.method(fs, "rmSync", (path: string) => {
      throw Object.assign(new Error(`EROFS: read-only file system, rm '${path}'`), { code: "EROFS", syscall: "rm" });
    });
    syncBuiltinESMExports();
    try {
      lock.release();
    } finally {
      test.mock.restoreAll();
      syncBuiltinESMExports();
    }
    const next = { ...holder, command: "init" };
    const second = ServerLock.take(folder, next);
    assert.throws(() => ServerLock.take(folder, holder), refusal(next));
    second.release();
  });

  it("says which file it is that another user's command left", (test) => {
    // The error of a missing permission. Tests may run as root, who has all permissions.
    test.mock.method(fs, "accessSync", (path: string) => {
      throw Object.assign(new Error(`EACCES: permission denied, access '${path}'`), {
        code: "EACCES",
        syscall: "access",
      });
    });
    syncBuiltinESMExports();
    assert.throws(() => ServerLock.take(folder, holder), {
      message: `EACCES: permission denied, access '${join(folder, "server.lock")}'`,
    });
    test.mock.restoreAll();
    syncBuiltinESMExports();
  });

  it("goes with its process, however that ends", async (test) => {
    const module = fileURLToPath(new URL("./server-lock.ts", import.meta.url));
    const other = { ...holder, command: "other" };
    const script = `
      const { ServerLock } = await import(${JSON.stringify(module)});
      const lock = ServerLock.take(${JSON.stringify(folder)}, ${JSON.stringify(other)});
      process.stdout.write("taken");
      setInterval(() => lock.tellBaseUrl, 1000);
    `;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    test.after(() => child.kill("SIGKILL"));
    await once(child.stdout, "data");
    assert.throws(() => ServerLock.take(folder, holder), refusal(other));
    child.kill("SIGKILL");
    await once(child, "exit");
    const lock = ServerLock.take(folder, holder);
    assert.throws(() => ServerLock.take(folder, other), refusal(holder), "the dead one's name is gone too");
    lock.release();
  });
});
