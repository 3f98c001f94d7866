import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { promisify } from "node:util";
import { until } from "../../../test/support/until.ts";
import { SupervisedReplica } from "./replica.ts";

const OPEN_FILES = 64;

it("a program that takes a key is started again where the machine had no descriptors for it", async () => {
  const directory = mkdtempSync(join(tmpdir(), "keystead-replica-"));
  // A separate process, whose file descriptors may be used up.
  const script = `
    import { createHash } from "node:crypto";
    import { closeSync, openSync, writeFileSync } from "node:fs";
    import { SupervisedReplica } from ${JSON.stringify(new URL("./replica.ts", import.meta.url))};
    const file = ${JSON.stringify(join(directory, "program"))};
    const content = "#!/bin/sh\\nexit 0\\n";
    writeFileSync(file, content, { mode: 0o555 });
    const digest = createHash("sha256").update(content).digest("hex");
    const program = { deploymentId: "one", file, digest, args: [], replicas: 1, publicIngressPort: 1,
      healthCheck: { kind: "http", port: 1 } };
    const used = [];
    const isSaid = (text) => replica.log.last(0).some(({ content }) => content.includes(text));
    const replica = new SupervisedReplica({
      program, number: 1, address: "127.0.0.1", directory: ${JSON.stringify(directory)}, uid: undefined,
      folderBound: { bytes: 1e9, entries: 1000 },
      quorumKey: () => {
        // Asked for right before the program is started.
        if (!isSaid("cannot be started")) {
          try { for (;;) used.push(openSync("/dev/null")); } catch {}
        }
        return new Uint8Array(32);
      },
      onChange: () => { for (const each of used.splice(0)) closeSync(each); },
    });
    replica.start();
    const look = () => {
      if (!isSaid("the program ended with 0")) return setTimeout(look, 20);
      console.log(replica.log.last(0)[0].content);
      replica.stop();
    };
    look();`;
  try {
    const { stdout } = await promisify(execFile)("/bin/sh", [
      "-c",
      `ulimit -n ${OPEN_FILES}; exec "$0" "$@"`,
      process.execPath,
      "--input-type=module",
      "--eval",
      script,
    ]);
    assert.match(stdout, /the program cannot be started: .*EMFILE/);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

it("a program that keeps too much in its folder is ended and starts again with an empty one", async () => {
  const directory = mkdtempSync(join(tmpdir(), "keystead-replica-"));
  const file = join(directory, "program");
  const content = `#!/bin/sh
echo "found $(ls "$HOME" | wc -l)"
for each in 1 2 3 4 5 6; do echo x > "$TMPDIR/$each"; done
echo written
exec sleep 600
`;
  writeFileSync(file, content, { mode: 0o555 });
  const digest = createHash("sha256").update(content).digest("hex");
  const program = { deploymentId: "one", file, digest, args: [], replicas: 1, publicIngressPort: 1 };
  const replica = new SupervisedReplica({
    program: { ...program, healthCheck: { kind: "http", port: 1 } },
    number: 1,
    address: "127.0.0.1",
    directory,
    uid: undefined,
    folderBound: { bytes: 2 ** 30, entries: 5 },
    quorumKey: () => undefined,
    onChange: () => {},
  });
  const said = (text: string) => replica.log.last(0).filter((line) => line.content.includes(text));
  try {
    replica.start();
    await until(() => said("written").length === 1);
    await replica.checkFolder();
    await until(() => said("written").length === 2);
    assert.equal(said("found 0").length, 2);
    assert.equal(said("its folder emptied: it holds more than 5 files and folders").length, 1);
    assert.equal(replica.state.restarts, 1);
  } finally {
    await replica.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});
