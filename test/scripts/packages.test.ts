import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { loadedBy, putInPlace } from "../support/packages.ts";

/** As a process of the tests loads them, or as they are installed; run in this folder, so that they are found. */
async function load(
  script: string,
  together: boolean,
  packages = process.env.KEYSTEAD_TEST_PACKAGES,
): Promise<{ files: number; value: unknown }> {
  const { PATH } = process.env;
  assert.ok(packages, "run tests through `npm test -- <files>`, which puts packages together for them");
  const counting = `
    import { registerHooks } from "node:module";
    let files = 0;
    registerHooks({ load(url, context, next) { files += url.startsWith("file:") ? 1 : 0; return next(url, context); } });
    const value = await (async () => { ${script} })();
    console.log(JSON.stringify({ files, value }));`;
  const args = [...(together ? [packages] : []), "--input-type=module", "--eval", counting];
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  return JSON.parse((await promisify(execFile)(process.execPath, args, { cwd, env: { PATH } })).stdout);
}

it("put together, packages are a few files with all that they export", async () => {
  const names = JSON.stringify(["typebox", "typebox/compile", "kysely"]);
  const script = `return Promise.all(${names}.map(async (name) => Object.keys(await import(name)).sort()));`;
  const [together, installed] = await Promise.all([load(script, true), load(script, false)]);
  assert.deepEqual(together.value, installed.value);
  assert.ok(together.files * 20 < installed.files, `${together.files} files in place of ${installed.files}`);
});

it("a module of CommonJS is the same one for `require` and for what was put together", async () => {
  const script = `
    const { createRequire } = await import("node:module");
    const { Client } = await import("pg");
    return createRequire(process.cwd() + "/x.js")("pg").Client === Client;`;
  assert.equal((await load(script, true)).value, true);
});

it("our own modules are found as Node finds them, and are there once", async () => {
  const script = `
    const here = await import("../support/until.ts");
    const whole = await import(new URL("../support/until.ts", "file://" + process.cwd() + "/x.js").href);
    const missing = await import("../support/there-is-none.ts").catch((error) => error.message);
    return { same: here === whole, missing: /there-is-none\\.ts/.test(missing) };`;
  assert.deepEqual((await load(script, true)).value, { same: true, missing: true });
});

describe("what is put together", () => {
  const temporary = () => mkdtempSync(join(tmpdir(), "keystead-packages-"));

  it("is found in a folder of any name", async (test) => {
    const parent = temporary();
    test.after(() => rmSync(parent, { recursive: true }));
    const folder = join(parent, "a b#c%20d?e&f=é");
    mkdirSync(folder);
    writeFileSync(join(folder, "standing-in.js"), "export default 'standing in';");
    const standingIn = pathToFileURL(join(folder, "standing-in.js")).href;
    writeFileSync(join(folder, "map.json"), JSON.stringify({ [import.meta.resolve("rolldown")]: standingIn }));
    const { value } = await load(
      'return (await import("rolldown")).default;',
      true,
      loadedBy(join(folder, "map.json")),
    );
    assert.equal(value, "standing in");
  });

  it("leaves nothing behind where it fails, and what others left behind goes", async (test) => {
    const parent = temporary();
    test.after(() => rmSync(parent, { recursive: true }));
    const folder = join(parent, "place");
    for (const name of ["unfinished-old", "unfinished-new"]) mkdirSync(join(parent, name));
    utimesSync(join(parent, "unfinished-old"), 0, 0);
    await assert.rejects(
      putInPlace(folder, () => Promise.reject(new Error("no"))),
      /^Error: no$/,
    );
    assert.deepEqual(readdirSync(parent), ["unfinished-new"]);
    // Gone before it could be moved: there is nothing in its place.
    await assert.rejects(
      putInPlace(folder, async (unfinished) => rmSync(unfinished, { recursive: true })),
      { code: "ENOENT" },
    );
  });

  it("is that of whoever was faster", async (test) => {
    const parent = temporary();
    test.after(() => rmSync(parent, { recursive: true }));
    const folder = join(parent, "place");
    await putInPlace(folder, async (unfinished) => {
      writeFileSync(join(unfinished, "second"), "");
      await putInPlace(folder, async (first) => writeFileSync(join(first, "first"), ""));
    });
    assert.deepEqual(readdirSync(folder), ["first"]);
    await putInPlace(folder, () => assert.fail("it is there"));
    assert.deepEqual(readdirSync(parent), ["place"]);
  });
});
