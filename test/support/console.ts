import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { isBuilt } from "../../scripts/console-sources.js";
import { BROWSER_HANGS_AFTER_MS, noBrowser, startBrowser } from "./browser.ts";
import { addUser, type Client } from "./client.ts";
import { credentialsOf, signInWithText } from "./console-page.ts";
import { oneEngine, startTestServer, type TestEngine, type TestServer, type TestServerOptions } from "./server.ts";
import { createWorld, type World } from "./world.ts";

/** The console in a browser, watched for what it must never do. */

const BUILD = fileURLToPath(new URL("../../scripts/build-console.ts", import.meta.url));

/**
 * Whichever test comes first builds it; several at once build it each, and all builds are the same. In a process of its own, as
 * Vite changes the environment of its own.
 */
export async function ensureConsole(): Promise<void> {
  if (!isBuilt()) await promisify(execFile)(process.execPath, [BUILD]);
}

export interface Visit {
  page: Page;
  context: BrowserContext;
  /** What was refused by the page's policy, asked of another host, or thrown where nobody caught it. */
  faults: string[];
}

/** @param allowed an origin that the page may ask beside its own */
export async function visit(browser: Browser, url: string, allowed?: string): Promise<Visit> {
  const context = await browser.newContext({ reducedMotion: "reduce" });
  context.setDefaultTimeout(BROWSER_HANGS_AFTER_MS);
  const page = await context.newPage();
  const faults: string[] = [];
  const origins = [new URL(url).origin, ...(allowed === undefined ? [] : [allowed])];
  await page.exposeBinding("tellViolation", (_source, text: string) => void faults.push(text));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sourceFile }) => {
      const { tellViolation } = globalThis as unknown as { tellViolation: (text: string) => void };
      tellViolation(`${violatedDirective} refused ${blockedURI} of ${sourceFile}`);
    });
  });
  page.on("pageerror", (error) => void faults.push(`not caught: ${error.message}`));
  page.on("request", (request) => {
    const target = request.url();
    if (!origins.some((origin) => target.startsWith(`${origin}/`)) && !/^(data|blob):/.test(target))
      faults.push(`asked ${target}`);
  });
  await page.goto(url);
  return { page, context, faults };
}

/** A name that is a page of its own, if anybody lets it. */
export const HOSTILE = `<img src=x onerror="document.title='taken'"><a href="https://evil.example">\u202egnirts`;
/** The same as the console shows it: what turns the direction of a text is seen. */
export const HOSTILE_SHOWN = HOSTILE.replace("\u202e", "[U+202E]");

/** What somebody sees in a browser of their own, and the organization that they belong to. */
export interface Story extends Visit {
  world: World;
  /** The root user, whom the browser is signed in as unless said. */
  root: Client;
}

/** What the stories of a file share: a browser and a server. None of them sees what another one did. */
export interface Stage {
  browser: Browser;
  server: TestServer;
  /** Where the console is: by name, as passkeys need one. */
  url: string;
  /** Tells a story in an organization of its own, by a visit of its own; the page must do nothing that its policy refuses. */
  tell(story: (story: Story) => Promise<void>, options?: { isSignedOut?: boolean }): Promise<void>;
  close(): Promise<void>;
}

export async function openStage(engine: TestEngine, options: TestServerOptions = {}): Promise<Stage> {
  await ensureConsole();
  const server = await startTestServer(engine, options);
  const browser = await startBrowser();
  const url = server.baseUrl.replace("127.0.0.1", "localhost");
  return {
    browser,
    server,
    url,
    async tell(story, { isSignedOut = false } = {}) {
      const world = await createWorld(server);
      const visited = await visit(browser, url);
      try {
        if (!isSignedOut) await signInWithText(visited.page, credentialsOf(world.root.client));
        await story({ ...visited, world, root: world.root.client });
        assert.deepEqual(visited.faults, []);
      } finally {
        await visited.context.close();
      }
    },
    async close() {
      await browser.close();
      await server.close();
    },
  };
}

/**
 * Stories with one stage for all of them, on this engine; with `KEYSTEAD_LONG_TESTS=1` on each. What a page shows comes through the
 * API, whose tests run on both.
 */
export function storiesOn(
  engine: TestEngine,
  about: string,
  stories: (stage: Omit<Stage, "close">) => void,
  options: TestServerOptions = {},
): void {
  for (const each of oneEngine(engine)) {
    describe(`${about} (${each})`, { skip: noBrowser }, () => {
      let opened: Stage;
      before(async () => {
        opened = await openStage(each, options);
      });
      after(() => opened.close());
      stories({
        tell: (...story) => opened.tell(...story),
        get browser() {
          return opened.browser;
        },
        get server() {
          return opened.server;
        },
        get url() {
          return opened.url;
        },
      });
    });
  }
}

/** A wallet that a policy lets two people make together, one of whom asked for it. Resolves to the activity's id. */
export async function activityThatWaits(root: Client): Promise<string> {
  const { userId, client } = await addUser(root, "Grace");
  await root.result("create_policy", {
    policyName: "Two make wallets",
    effect: "EFFECT_ALLOW",
    condition: "activity.resource == 'WALLET' && activity.action == 'CREATE'",
    consensus: `approvers.any(user, user.id == '${userId}') && approvers.count() >= 2`,
    notes: "",
  });
  const { status, body } = await client.submit("create_wallet", { walletName: "Together", accounts: [] });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
  return body.activity.id;
}
