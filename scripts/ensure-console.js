// Runs before `npm start` under whatever Node is there: builds the console once, and again after its sources changed.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { isBuilt } from "./console-sources.js";

const hasTools = existsSync(new URL("../node_modules/vite/package.json", import.meta.url));

if (process.env.KEYSTEAD_CONSOLE !== "false" && hasTools && !isBuilt()) {
  process.stderr.write("Building the console (npm run build:console) ...\n");
  // The server serves the API without a console too, and says so.
  spawnSync("npm", ["run", "--silent", "build:console"], { stdio: ["ignore", "inherit", "inherit"] });
}
