import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** As a process of the tests loads them, or as they are installed; run in this folder, so that they are found. */
async function load(script: string, together: boolean): Promise<{ files: number; value: unknown }> {
  const { PATH, KEYSTEAD_TEST_PACKAGES: packages } = process.env;
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
