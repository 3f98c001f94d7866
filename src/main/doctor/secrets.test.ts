import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { loadConfig } from "../config.ts";
import { safeToShow } from "./secrets.ts";

it("what others repeat of the settings' secrets is not shown, in any spelling", (test) => {
  const folder = mkdtempSync(join(tmpdir(), "keystead-doctor-"));
  test.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "config.json");
  writeFileSync(file, JSON.stringify({ swaps: { provider: "relay" } }));
  const config = loadConfig(
    {
      DATABASE_URL: "postgres://ada:of-the-database@127.0.0.1:5432,127.0.0.2/keystead",
      KEYSTEAD_ROOT_KEY_PASSPHRASE: "of the root key",
      KEYSTEAD_RELAY_API_KEY: "of-relay+and/more",
    },
    file,
  );
  const base64 = Buffer.from("of-relay+and/more").toString("base64");
  for (const secret of ["of-the-database", "of the root key", "of-relay+and/more", "of-relay%2Band%2Fmore", base64])
    assert.equal(safeToShow(`refused: ${secret}.`, config), "refused: ***.", secret);
});
