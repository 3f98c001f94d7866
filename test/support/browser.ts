import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Where distributions put it, unless it is said. The shell has no windows and no pages of its own, which take as much work as ours. */
const { KEYSTEAD_TEST_CHROMIUM: said } = process.env;
const INSTALLED = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const PATHS = said === undefined ? INSTALLED : [said];

const executablePath = PATHS.find((path) => existsSync(path));

/** Why there is no browser here; false where there is one. */
export const noBrowser: string | false =
  executablePath === undefined && `Chromium is not installed: none of ${PATHS.join(", ")}`;

/** Nothing in a browser takes that long, on however busy a machine. */
export const BROWSER_HANGS_AFTER_MS = 180_000;

/** Its sandbox does not start as root, or in containers; what it shows here is our own. */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: executablePath as string,
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    timeout: BROWSER_HANGS_AFTER_MS,
  });
