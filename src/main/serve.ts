import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { capabilities, operations } from "../capabilities/index.ts";
import { createSesReceiver } from "../capabilities/messages/index.ts";
import { discoveryDocument, issuerKeySet } from "../capabilities/oauth/index.ts";
import { announceActivity, webhookKeySet } from "../capabilities/webhooks/index.ts";
import { createOutboundClient } from "../delivery/outbound.ts";
import { performActivity } from "../engine/activities/perform.ts";
import { makePlan } from "../engine/activities/plan.ts";
import { Admission } from "../engine/admission.ts";
import { houseOf } from "../engine/capability.ts";
import { createEngine } from "../engine/engine.ts";
import { JobWorker } from "../engine/jobs/worker.ts";
import { ensureServiceKeys, publishServiceKeys } from "../engine/keys/service-keys.ts";
import { recordBoot } from "../engine/proofs/boot-proofs.ts";
import { createRegistry } from "../engine/registry.ts";
import type { Services } from "../engine/services.ts";
import { type ApiOptions, api } from "../http/api.ts";
import { readExamples } from "../http/examples.ts";
import { ingest } from "../http/ingest.ts";
import { createListener, type Listener } from "../http/listener.ts";
import { createMetrics, type Metrics } from "../http/metrics.ts";
import { openApiDocument } from "../http/openapi.ts";
import { pages } from "../http/pages.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { DRAIN_DEADLINE_MS } from "../kernel/limits.ts";
import { createLogger, type Logger } from "../kernel/log.ts";
import { createEvmNodes } from "../nodes/evm.ts";
import { createNodeClient } from "../nodes/node-client.ts";
import { createOauth2Clients } from "../providers/oauth2/exchange.ts";
import { createOidcVerifier } from "../providers/oidc/verifier.ts";
import { type Config, StartProblem } from "./config.ts";
import { addressFileIn, credentialsFileIn, writeFileDurably } from "./credentials-file.ts";
import { ensureFirstOrganization } from "./first-organization.ts";
import { messageServices } from "./message-settings.ts";
import { type Opened, openInstallation } from "./open.ts";
import { createReadiness, withChains } from "./readiness.ts";
import { version } from "./version.ts";

export interface ServeOptions {
  config: Config;
  log?: Logger;
  clock?: Clock;
  onAnswer?: ApiOptions["onAnswer"];
  /** An empty database becomes a new installation, whatever speaks against it. */
  newInstallation?: boolean;
}

/** A server that accepts requests. */
export interface RunningServer {
  baseUrl: string;
  /** undefined when switched off */
  adminUrl: string | undefined;
  /** Whether this start made the first organization. */
  isFirstStart: boolean;
  opened: Opened;
  /** Takes no new requests, answers the open ones, and ends the signer. */
  close(): Promise<void>;
}

/** @throws StartProblem */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { config, log, clock = systemClock, onAnswer, newInstallation = false } = options;
  const logger = log ?? createLogger(config.logLevel);
  for (const name of config.withoutEffect) logger.warn({ setting: name }, "this setting has no effect in this release");
  const { allowPrivateNetworks } = config;
  if (allowPrivateNetworks) {
    logger.warn(
      "KEYSTEAD_ALLOW_PRIVATE_NETWORKS is on: webhooks may reach private addresses by plain http, and OIDC issuers may be on them; development only",
    );
  }
  const ifEmpty = newInstallation ? "begin anew" : "begin";
  const opened = await openInstallation(config, logger, { command: "serve", ifEmpty });
  const { database, signer, lock } = opened;
  const outbound = createOutboundClient({ allowPrivateNetworks });
  const nodeClient = createNodeClient();
  const evm = createEvmNodes({ chains: config.chains, outbound: nodeClient, log: logger });
  const house = houseOf(capabilities);
  const registry = createRegistry(operations);
  const messages = messageServices(config.messages, config.dataDir, outbound);
  // Port 0 is known only after listening, and the URL is told to others: they ask for it when they need it.
  const info = { version, baseUrl: config.publicUrl ?? `http://${config.host}:${config.port}` };
  const services: Services = {
    outbound,
    outboundPolicy: { allowPrivateNetworks },
    oidc: createOidcVerifier({
      outbound,
      policy: { allowPrivateNetworks },
      clock,
      own: { issuer: () => info.baseUrl, keys: () => issuerKeySet(database.read, clock()) },
    }),
    oauth2: createOauth2Clients({ outbound, urls: config.oauth2Urls, clock }),
    publicUrl: () => info.baseUrl,
    webhookSchedule: config.webhooks,
    evm,
    ...messages,
    registry,
    planner: { makePlan: (operation, planning) => makePlan({ database, services }, operation, planning) },
    erasedTables: house.erasedTables,
    apart: { transact: database.transact },
  };
  const observer = { onChange: announceActivity };
  const worker = new JobWorker({
    surroundings: { database, clock, log: logger },
    services,
    signer,
    kinds: [...house.jobs, performActivity({ registry, services, observer })],
  });
  let listener: Listener | undefined;
  try {
    const metrics = createMetrics(signer);
    const admission = new Admission(config.rates);
    const engine = createEngine({ registry, database, signer, clock, observer, services, admission });
    listener = createListener({
      log: logger,
      trustedProxies: config.trustedProxies,
      bounds: config.connections,
      observe: metrics.observe,
    });
    listener.mount(
      api({ engine, log: logger, activityTimes: config.activityTimes, ...(onAnswer ? { onAnswer } : {}) }),
    );
    listener.mount(
      pages({
        readiness: withChains(createReadiness(opened), evm),
        webhookKeySet: () => webhookKeySet(database.read, clock()),
        issuerKeySet: () => issuerKeySet(database.read, clock()),
        discoveryDocument: () => discoveryDocument(info.baseUrl),
        serviceKeys: () => publishServiceKeys(house.serviceKeys, database.read, clock()),
        info,
        openApi: async () => openApiDocument({ capabilities, examples: await readExamples() }, info),
      }),
    );
    const { ses } = config.messages;
    if (ses.topicArns.length > 0) {
      listener.mount(ingest({ ses: createSesReceiver({ ...ses, database, outbound, clock, log: logger }) }));
    }
    const serving = listener;
    const local = await listen(serving, config);
    info.baseUrl = config.publicUrl ?? local;
    let isFirstStart = false;
    if (signer.state === "ready") {
      isFirstStart = await ensureFirstOrganization(database, signer, config.dataDir, info.baseUrl);
      await ensureServiceKeys({ database, signer }, house.serviceKeys, clock());
      await recordBoot({ database, signer }, clock());
      signer.onRestart(() => {
        recordBoot({ database, signer }, clock()).catch((error: Error) =>
          logger.warn({ reason: error.message }, "the boot of the signer is recorded with its first proof"),
        );
      });
    }
    evm.start();
    await worker.start();
    lock?.tellBaseUrl(info.baseUrl);
    writeFileDurably(addressFileIn(config.dataDir), `${JSON.stringify({ baseUrl: local })}\n`, 0o644);
    const admin = await listenAdmin(config, metrics);
    logger.info({ version, baseUrl: local, database: database.kind, signer: signer.state }, "serving");
    return {
      baseUrl: local,
      adminUrl: admin && `http://127.0.0.1:${(admin.address() as AddressInfo).port}`,
      isFirstStart,
      opened,
      close: () =>
        close({
          listener: serving,
          admin,
          worker,
          clients: [outbound, nodeClient, messages.mailer],
          evm,
          opened,
          log: logger,
        }),
    };
  } catch (error) {
    await listener?.close();
    await worker.stop();
    evm.stop();
    await Promise.all([outbound.close(), nodeClient.close(), messages.mailer.close()]);
    await signer.close();
    await database.close();
    lock?.release();
    throw error;
  }
}

async function listen(listener: Listener, { host, port }: Config): Promise<string> {
  try {
    const bound = await listener.listen({ host, port });
    const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
    return `http://${shown.includes(":") ? `[${shown}]` : shown}:${bound.port}`;
  } catch (error) {
    throw new StartProblem(listenProblem("KEYSTEAD_PORT", `${host}:${port}`, error));
  }
}

/** Metrics, on the loopback address alone. */
async function listenAdmin({ adminPort }: Config, { registry }: Metrics): Promise<Server | undefined> {
  if (adminPort === 0) return undefined;
  const server = createServer((request, response) => {
    if (request.url !== "/metrics") {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { "content-type": registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(new StartProblem(listenProblem("KEYSTEAD_ADMIN_PORT", `127.0.0.1:${adminPort}`, error))),
    );
    server.listen(adminPort, "127.0.0.1", resolve);
  });
  return server;
}

function listenProblem(setting: string, address: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code === "EADDRINUSE" ? "something else listens there" : message;
  return `cannot listen on ${address}: ${reason}; choose another with ${setting}`;
}

interface Parts {
  listener: Listener;
  admin: Server | undefined;
  worker: JobWorker;
  clients: readonly { close(): Promise<void> }[];
  evm: { stop(): void };
  opened: Opened;
  log: Logger;
}

/** After the requests, how long the database and the jobs may take to end; either may hang. */
const CLOSE_DEADLINE_MS = 2_000;

async function close({ listener, admin, worker, clients, evm, opened, log }: Parts): Promise<void> {
  await atMost(DRAIN_DEADLINE_MS, listener.close(), () => {
    log.warn("open requests were cut off at the drain deadline");
    listener.cutOff();
  });
  admin?.close();
  admin?.closeAllConnections();
  // Requests that jobs wait for are cut off; the jobs go on elsewhere, or here after the next start.
  evm.stop();
  const ended = Promise.all([worker.stop(), ...clients.map((client) => client.close())]).then(() =>
    opened.database.close(),
  );
  await atMost(CLOSE_DEADLINE_MS, ended, () => log.warn("the database was left before it had answered everything"));
  await opened.signer.close();
  opened.lock?.release();
}

async function atMost(ms: number, work: Promise<unknown>, onLate: () => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      onLate();
      resolve();
    }, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

/** What a person at a terminal reads after a start. */
export function banner({ baseUrl, isFirstStart }: RunningServer, config: Config): string {
  const lines = [`Keystead ${version} serves ${baseUrl}`, ""];
  if (isFirstStart) lines.push("This first start made an organization, a root user and an API key.");
  return [
    ...lines,
    `Credentials:  ${credentialsFileIn(config.dataDir)}`,
    "Try first:    npx keystead call whoami",
    `API docs:     ${baseUrl}/docs`,
    "",
  ].join("\n");
}
