import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { MAX_RUN_DEPLOYMENTS } from "../../src/kernel/limits.ts";

/** Below those that are given to who asks for any port, so that nobody gets one of these by chance. */
const FIRST = 10_000;
const LAST = 32_000;
const FIRST_UID = 100_000;

/** Nothing else listens here, and as long as this does, nobody takes the port for free. */
const HOLDER = "127.255.255.254";

async function listen(port: number, host: string): Promise<Server | undefined> {
  const server = createServer();
  try {
    await once(server.listen(port, host), "listening");
    return server;
  } catch {
    return undefined;
  }
}

/** A port that is free at every address of this machine, and this test's alone until this process ends. */
export async function reservePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    const everywhere = await listen(port, "0.0.0.0");
    if (!everywhere) continue;
    await new Promise((resolve) => everywhere.close(resolve));
    const holder = await listen(port, HOLDER);
    if (!holder) continue;
    holder.unref();
    return port;
  }
}

/** Users that no other test has programs run as; only root may say so. */
export async function usersOfTests(): Promise<{ firstUid?: number }> {
  if (process.getuid?.() !== 0) return {};
  return { firstUid: FIRST_UID + (await reservePort()) * MAX_RUN_DEPLOYMENTS };
}
