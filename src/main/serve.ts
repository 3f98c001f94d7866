import type { Server } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { authProxy } from "../auth-proxy/auth-proxy.ts";
import { findEnabledAuthProxy, isAllowedOrigin } from "../capabilities/auth-proxy/index.ts";
import { Ingress, Keeper } from "../capabilities/deployments/index.ts";
import { chainWatchers } from "../capabilities/history/index.ts";
import { capabilities, operations } from "../capabilities/index.ts";
import { createSesReceiver } from "../capabilities/messages/index.ts";
import { discoveryDocument, issuerKeySet } from "../capabilities/oauth/index.ts";
import { sponsorAddresses } from "../capabilities/sponsoring/index.ts";
import { announceActivity, findActivityListeners, webhookKeySet } from "../capabilities/webhooks/index.ts";
import { createAssetBook } from "../chains/evm/assets.ts";
import { createOutboundClient, type OutboundClient } from "../delivery/outbound.ts";
import { createOutboundThread } from "../delivery/outbound-thread.ts";
import type { ActivityObserver } from "../engine/activities/ballot.ts";
import { performActivity } from "../engine/activities/perform.ts";
import { makePlan } from "../engine/activities/plan.ts";
import { Admission } from "../engine/admission.ts";
import { storeQuotasOfInstallation } from "../engine/authority/stored-quotas.ts";
import { combineManifests } from "../engine/capability.ts";
import { createEngine } from "../engine/engine.ts";
import { JobWorker } from "../engine/jobs/worker.ts";
import { ensureServiceKeys, publishServiceKeys } from "../engine/keys/service-keys.ts";
import { refuseDuring } from "../engine/maintenance.ts";
import { recordBoot } from "../engine/proofs/boot-proofs.ts";
import { createRegistry } from "../engine/registry.ts";
import { settleRestoredSince } from "../engine/restored.ts";
import type { Services } from "../engine/services.ts";
import { type ApiOptions, api } from "../http/api.ts";
import { consolePages, isConsoleBuilt } from "../http/console.ts";
import { readExamples } from "../http/examples.ts";
import { areFramesBuilt, framePages } from "../http/frames.ts";
import { handbookPages, isHandbookBuilt } from "../http/handbook.ts";
import { ingest } from "../http/ingest.ts";
import { createListener, createRoom, type Listener } from "../http/listener.ts";
import { openApiDocument } from "../http/openapi.ts";
import { pages } from "../http/pages.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { durationText } from "../kernel/durations.ts";
import { DRAIN_DEADLINE_MS, FIRST_VISIT_MS } from "../kernel/limits.ts";
import { createLogger, type Logger } from "../kernel/log.ts";
import type { Chain } from "../nodes/families.ts";
import { createNodeClient } from "../nodes/node-client.ts";
import { createNodes } from "../nodes/pool.ts";
import { type Captcha, createTurnstile, noCaptcha } from "../providers/captcha/turnstile.ts";
import { createOauth2Clients } from "../providers/oauth2/exchange.ts";
import { createImages } from "../providers/oci/registry.ts";
import { createOidcVerifier } from "../providers/oidc/verifier.ts";
import { LocalRunner } from "../runner/client.ts";
import { AgreedClock } from "./agreed-clock.ts";
import { withAudit } from "./audit/readiness.ts";
import { AuditStream } from "./audit/stream.ts";
import { ScheduledBackups } from "./backup/schedule.ts";
import { gasStationsOf, rentPaidOf, tokensOf } from "./chain-settings.ts";
import { type Config, configuredUrl, StartProblem } from "./config.ts";
import { addressFileIn, credentialsFileIn, readCredentials, writeFileDurably } from "./credentials-file.ts";
import { prepareDirectory } from "./deployment-settings.ts";
import { ensureFirstOrganization } from "./first-organization.ts";
import { FirstVisit, leaveLink, removeOldLink } from "./first-visit.ts";
import { listen, listenAdmin } from "./listening.ts";
import { messageServices } from "./message-settings.ts";
import { measureAudit } from "./metrics/audit.ts";
import { measureDatabase } from "./metrics/database.ts";
import { measureJobs } from "./metrics/jobs.ts";
import { createMetrics, measureTraffic } from "./metrics/metrics.ts";
import { measureSigner } from "./metrics/signer.ts";
import { measureTraces } from "./metrics/traces.ts";
import { onRampService } from "./on-ramp-settings.ts";
import { type Opened, openInstallation } from "./open.ts";
import { warnOfFewOpenFiles } from "./open-files.ts";
import { isOfPrivateNetwork } from "./operator-url.ts";
import { Presence, shownMaintenance } from "./presence.ts";
import {
  createReadiness,
  untilTold,
  withBackups,
  withChains,
  withMail,
  withMaintenance,
  withSwaps,
} from "./readiness.ts";
import { RootKeyFollower } from "./root-key/follower.ts";
import { withSponsors } from "./sponsor-funds.ts";
import { swapService } from "./swap-settings.ts";
import { TraceExporter } from "./traces/exporter.ts";
import { createTracer } from "./traces/tracer.ts";
import { version } from "./version.ts";

export interface ServeOptions {
  config: Config;
  log?: Logger;
  /** The server's time, which replaces the clocks of this machine and the database. */
  clock?: Clock;
  /** Replaces this machine's clock. */
  machineClock?: Clock;
  /** A monotonic clock in milliseconds, for rate limits. */
  elapsed?: () => number;
  /** The client for requests on behalf of organizations, in place of the guarded one. */
  outbound?: OutboundClient;
  onAnswer?: ApiOptions["onAnswer"];
  /** Whether an empty database becomes a new installation even if files of another exist. */
  newInstallation?: boolean;
  /** Called once the server accepts requests, before that is announced, because somebody may stop it as soon as it is. */
  onServing?: (server: RunningServer) => void;
  /** Whether nobody sees the output, so that the link of a first start is written to a file. */
  unattended?: boolean;
}

/** A server that accepts requests. */
export interface RunningServer {
  baseUrl: string;
  /** The console's URL; undefined if it is disabled or not built. */
  consoleUrl: string | undefined;
  /** The link of a first start that only this machine can reach; it creates one passkey for the root user. */
  firstVisitUrl: string | undefined;
  /** The same as `baseUrl`, unless the auth proxy has a separate port. */
  authProxyUrl: string;
  /** Undefined if disabled. */
  adminUrl: string | undefined;
  /** Whether this start created the first organization. */
  isFirstStart: boolean;
  opened: Opened;
  /** Stops accepting requests, completes the open ones, and stops the signer. */
  close(): Promise<void>;
}

/** @throws StartProblem */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { config, log, machineClock = systemClock, onAnswer, newInstallation = false, unattended = false } = options;
  const logger = log ?? createLogger(config.logLevel);
  const { allowPrivateNetworks } = config;
  if (allowPrivateNetworks) {
    logger.warn(
      "KEYSTEAD_ALLOW_PRIVATE_NETWORKS is on: webhooks may reach private addresses over plain HTTP, and OIDC issuers may have private addresses; for development only",
    );
  }
  const ifEmpty = newInstallation ? "begin anew" : "begin";
  const metrics = createMetrics(version);
  const opened = await openInstallation(config, logger, { command: "serve", ifEmpty, observers: metrics });
  const { database, signer, lock } = opened;
  const agreed = new AgreedClock({ machine: machineClock, database, log: logger });
  // A given clock is authoritative.
  if (options.clock === undefined) await agreed.start();
  const clock = options.clock ?? agreed.now;
  const { runner: runnerKind, ...tvc } = config.tvc;
  // A host that an organization names can hold up the thread that asks it. Issuers, which strangers can name, have another thread, and hosts
  // that the operator names are asked by this one, so that they wait for neither.
  const outbound = options.outbound ?? createOutboundThread({ allowPrivateNetworks });
  const toIssuers = options.outbound ?? createOutboundThread({ allowPrivateNetworks });
  const toOperatorsHosts = options.outbound ?? createOutboundClient({ allowPrivateNetworks });
  const images = createImages({ outbound, plainLoopback: allowPrivateNetworks, directory: tvc.directory });
  const runner = runnerKind && new LocalRunner(tvc, logger);
  const keeper = runner && new Keeper({ ...tvc, database, runner, images, signer, clock, log: logger });
  const ingress = runner && new Ingress({ ...tvc, database, runner, log: logger });
  const apps = [keeper, ingress].filter((each) => each !== undefined);
  const nodeClient = createNodeClient();
  const nodes = createNodes({
    chains: config.chains,
    outbound: nodeClient,
    log: logger,
    onCall: metrics.nodeCalled,
  });
  const manifests = combineManifests(capabilities);
  const registry = createRegistry(operations);
  const messages = messageServices(config.messages, config.dataDir, toOperatorsHosts, metrics.messageTried);
  // With port 0, the URL is known only after listening, so others must read it when they need it.
  const info = { version, baseUrl: configuredUrl(config) };
  const services: Services = {
    outbound,
    outboundPolicy: { allowPrivateNetworks },
    oidc: createOidcVerifier({
      outbound: toIssuers,
      policy: { allowPrivateNetworks },
      clock,
      own: { issuer: () => info.baseUrl, keys: () => issuerKeySet(database.read, clock()) },
    }),
    oauth2: createOauth2Clients({ outbound: toOperatorsHosts, urls: config.oauth2Urls, clock }),
    earn: config.earn,
    onRamps: onRampService(config.onRamp, { outbound: toOperatorsHosts, toOwnNetwork: nodeClient }, options.elapsed),
    swaps: swapService(config.swaps, { outbound: toOperatorsHosts, toOwnNetwork: nodeClient }),
    deployments: { ...tvc, images, runner },
    publicUrl: () => info.baseUrl,
    webhookSchedule: config.webhooks,
    retention: config.retention,
    webhookObserver: metrics.webhooks,
    evm: nodes,
    solana: nodes,
    gasStations: gasStationsOf(config.chains),
    rentPaid: rentPaidOf(config.chains),
    assets: createAssetBook(tokensOf(config.chains), config.prices),
    ...messages,
    captcha: captchaOf(config.turnstile, { outbound: toOperatorsHosts, toOwnNetwork: nodeClient, log: logger }),
    registry,
    planner: { makePlan: (operation, planning) => makePlan({ database, services }, operation, planning) },
    erasedTables: manifests.erasedTables,
    largeTables: manifests.largeTables,
    apart: { transact: database.transact },
  };
  const clients = [outbound, toIssuers, toOperatorsHosts, nodeClient, messages.mailer, ...apps];
  const { leaseMs } = config.jobs;
  const audit = config.audit && new AuditStream({ settings: config.audit, database, leaseMs, clock, log: logger });
  const observer: ActivityObserver = {
    ahead: findActivityListeners,
    async onChange(tx, change) {
      await Promise.all([audit?.record(tx, change), announceActivity(tx, change)]);
      const { type, status } = change.activity;
      tx.afterCommit(() => metrics.activityStored(type, status));
    },
  };
  const backups = config.backup && new ScheduledBackups(config.backup, { url: config.databaseUrl, clock, log: logger });
  const traces = config.traces && new TraceExporter(config.traces, logger);
  const tracer = config.traces && traces && createTracer(config.traces, traces.add);
  const worker = new JobWorker({
    surroundings: { database, clock, log: logger },
    services,
    signer,
    kinds: [
      ...manifests.jobs,
      performActivity({ registry, services, observer }),
      ...chainWatchers(config.chains),
      ...(backups ? [backups.job] : []),
    ],
    onRun: metrics.jobRan,
    tracer,
    isAlone: database.kind === "sqlite",
    ...config.jobs,
  });
  const listeners: Listener[] = [];
  const presence = new Presence({
    database,
    clock,
    log: logger,
    rootKeys: new RootKeyFollower({ signer, read: database.read, log: logger }),
    onDrain: () => {
      for (const each of listeners) each.sendAway();
    },
  });
  try {
    await presence.begin();
    if (await storeQuotasOfInstallation(database, config.quotas)) {
      logger.info({ quotas: config.quotas }, "all servers of this database use these quotas");
    }
    if (runnerKind) preparePrograms(config, logger);
    const { registry: measured } = metrics;
    measureSigner(measured, signer);
    measureDatabase(measured, config, database, options.clock ?? machineClock);
    measureJobs(measured, database.read, clock);
    backups?.measure(measured);
    if (audit) measureAudit(measured, audit);
    if (traces) measureTraces(measured, traces);
    const admission = new Admission(config.rates, config.sharedRequests, options.elapsed);
    const refuseWrites = () => refuseDuring(presence.maintenance);
    const engine = createEngine({
      ...{ registry, database, signer, clock, observer, services, admission },
      restoredSince: await settleRestoredSince(database, clock(), audit?.recordRestore.bind(audit)),
      refuseWrites,
      audit,
    });
    const { trustedProxies } = config;
    const room = createRoom(config.connections, trustedProxies, () => metrics.traffic.turnedAway("no_room"));
    const inFlight = () => room.connections.openRequests;
    measureTraffic(measured, inFlight);
    const newListener = () => {
      const elsewhere = ingress ? { elsewhere: ingress } : {};
      const made = createListener({
        log: logger,
        trustedProxies,
        room,
        observer: metrics.traffic,
        tracer,
        ...elsewhere,
      });
      listeners.push(made);
      return made;
    };
    let isStopping = false;
    const withFunds = withSponsors(withChains(createReadiness(opened), nodes), {
      chains: Object.keys(config.chains) as Chain[],
      nodes,
      addresses: () => sponsorAddresses(database.read, clock()),
      rentPaid: rentPaidOf(config.chains),
    });
    const told = () => (isStopping ? "stop" : presence.isDraining ? "drain" : undefined);
    const withSinks = audit ? withAudit(withFunds, audit) : withFunds;
    const withOthers = withBackups(withMail(withSwaps(withSinks, services.swaps), services.mailer), backups);
    const readiness = withMaintenance(
      untilTold(withOthers, told),
      () => presence.maintenance && shownMaintenance(presence.maintenance),
    );
    await audit?.start();
    const listener = newListener();
    const proxyPort = config.authProxy.port;
    const proxyListener = proxyPort === undefined ? listener : newListener();
    listener.mount(
      api({ engine, log: logger, activityTimes: config.activityTimes, ...(onAnswer ? { onAnswer } : {}) }),
    );
    listener.mount(
      pages({
        readiness,
        webhookKeySet: () => webhookKeySet(database.read, clock()),
        issuerKeySet: () => issuerKeySet(database.read, clock()),
        discoveryDocument: () => discoveryDocument(info.baseUrl),
        serviceKeys: () => publishServiceKeys(manifests.serviceKeys, database.read, clock()),
        sponsors: () => sponsorAddresses(database.read, clock()),
        info,
        openApi: async () => openApiDocument({ capabilities, examples: await readExamples() }, info),
      }),
    );
    const proxy = authProxy({
      engine,
      calls: manifests.proxyCalls,
      findProxy: findEnabledAuthProxy,
      isAllowedOrigin,
      database,
      signer,
      services,
      admission,
      requestsPerSecond: config.authProxy.requestsPerSecond,
      codesPerHour: config.authProxy.codesPerHour,
      clock,
      elapsed: options.elapsed,
    });
    proxyListener.mount(proxy);
    const hasConsole = config.console && isConsoleBuilt();
    removeOldLink(config.dataDir);
    const firstVisit = hasConsole && isNearOnly(config) ? new FirstVisit({ engine, clock }) : undefined;
    if (firstVisit) listener.mount(firstVisit.mount);
    if (hasConsole) listener.mount(consolePages());
    else if (config.console) logger.warn("the console is not built; `npm run build:console` builds it");
    const { frameOrigins } = config;
    if (frameOrigins.length > 0 && areFramesBuilt()) listener.mount(framePages(frameOrigins));
    if (isHandbookBuilt()) listener.mount(handbookPages());
    const { ses } = config.messages;
    if (ses.topicArns.length > 0) {
      listener.mount(ingest({ ses: createSesReceiver({ ...ses, database, outbound, clock, log: logger }) }));
    }
    const local = await listen(listener, config);
    // From here on, an operator who begins a maintenance waits for this server too.
    presence.start(local);
    let authProxyUrl = local;
    if (proxyPort !== undefined) {
      authProxyUrl = await listen(proxyListener, { host: config.host, port: proxyPort }, "KEYSTEAD_AUTH_PROXY_PORT");
      logger.info({ authProxyUrl }, "the auth proxy has its own port");
    }
    info.baseUrl = config.publicUrl ?? local;
    const consoleUrl = hasConsole ? (config.publicUrl ?? consoleUrlOf(local)) : undefined;
    let isFirstStart = false;
    let firstVisitUrl: string | undefined;
    if (signer.state === "ready") {
      const first = { dataDir: config.dataDir, baseUrl: info.baseUrl, now: clock() };
      isFirstStart = await ensureFirstOrganization(database, signer, first);
      const made = isFirstStart ? readCredentials(credentialsFileIn(config.dataDir)) : undefined;
      const token = made && firstVisit?.open(made);
      if (token !== undefined) firstVisitUrl = `${consoleUrl}/#/welcome/${token}`;
      if (isFirstStart) {
        const linkFile =
          unattended && firstVisitUrl !== undefined ? leaveLink(config.dataDir, firstVisitUrl) : undefined;
        const credentials = credentialsFileIn(config.dataDir);
        logger.info({ credentials, linkFile }, "the first organization was created, with a root user and an API key");
      }
      await ensureServiceKeys({ database, signer }, manifests.serviceKeys, clock());
      await recordBoot({ database, signer }, clock());
      signer.onRestart(() => {
        recordBoot({ database, signer }, clock()).catch((error: Error) =>
          logger.warn(
            { reason: error.message },
            "the boot of the signer could not be recorded; this is tried again with its first proof",
          ),
        );
      });
    }
    nodes.start();
    await worker.start();
    keeper?.start();
    lock?.tellBaseUrl(info.baseUrl);
    const admin = await listenAdmin(config, metrics, readiness);
    const running: RunningServer = {
      baseUrl: local,
      consoleUrl,
      firstVisitUrl,
      authProxyUrl,
      adminUrl: admin?.url,
      isFirstStart,
      opened,
      async close() {
        isStopping = true;
        const { shutdownDelayMs: delayMs } = config;
        logger.info({ delayMs }, "stopping");
        for (const each of listeners) each.sendAway();
        if (delayMs > 0) await pause(delayMs);
        await close({
          listeners,
          admin: admin?.server,
          worker,
          clients: [
            ...clients,
            presence,
            agreed,
            ...(backups ? [{ close: () => backups.stop() }] : []),
            ...(audit ? [{ close: () => audit.stop() }] : []),
            ...(traces ? [traces] : []),
          ],
          nodes,
          opened,
          log: logger,
        });
        logger.info("stopped");
      },
    };
    options.onServing?.(running);
    tellAddress(config, local, logger);
    const urls = { baseUrl: local, consoleUrl, docsUrl: `${local}/docs`, adminUrl: admin?.url };
    logger.info({ version, ...urls, database: database.kind, signer: signer.state }, "serving");
    warnOfFewOpenFiles(config.connections, logger);
    return running;
  } catch (error) {
    await Promise.all(listeners.map((each) => each.close()));
    await worker.stop();
    await backups?.stop();
    await audit?.stop();
    await traces?.close();
    nodes.stop();
    await Promise.all([...clients, presence, agreed].map((each) => each.close()));
    await signer.close();
    await database.close();
    lock?.release();
    throw error;
  }
}

/** Writes the address for commands on this machine. If that fails, for example on a full disk, the server continues. */
function tellAddress({ dataDir }: Config, baseUrl: string, log: Logger): void {
  const file = addressFileIn(dataDir);
  try {
    writeFileDurably(file, `${JSON.stringify({ baseUrl, pid: process.pid })}\n`, 0o644);
  } catch (error) {
    const { message: reason } = error as Error;
    log.warn(
      { file, reason },
      "the address of this server cannot be written to a file, so `keystead call` may not find it",
    );
  }
}

/** @throws StartProblem */
function preparePrograms({ tvc }: Config, log: Logger): void {
  try {
    const closed = prepareDirectory(tvc);
    if (closed === undefined) return;
    log.warn(
      { folder: closed },
      "programs of deployments run as users that cannot access their directory; set `tvc.directory` to another one",
    );
  } catch (error) {
    const reason = (error as Error).message;
    throw new StartProblem(
      `the directory for the programs of deployments cannot be created: ${reason}. Check \`tvc.directory\``,
    );
  }
}

/** A CAPTCHA service on a private address needs the client that may reach those. */
function captchaOf(
  turnstile: Config["turnstile"],
  { outbound, toOwnNetwork, log }: { outbound: OutboundClient; toOwnNetwork: OutboundClient; log: Logger },
): Captcha {
  if (!turnstile) return noCaptcha;
  return createTurnstile(turnstile, isOfPrivateNetwork(turnstile.url) ? toOwnNetwork : outbound, log);
}

/** Whether only this machine is meant to reach the server. */
const isNearOnly = ({ host, publicUrl }: Config): boolean =>
  publicUrl === undefined && ["127.0.0.1", "::1", "localhost"].includes(host);

/** Uses `localhost` for loopback addresses, because passkeys are bound to names (WebAuthn Level 3, section 5.1.2), never to addresses. */
const consoleUrlOf = (baseUrl: string): string =>
  baseUrl.replace(/^http:\/\/(127\.0\.0\.1|\[::1\]):/, "http://localhost:");

interface Parts {
  listeners: readonly Listener[];
  admin: Server | undefined;
  worker: JobWorker;
  clients: readonly { close(): Promise<void> }[];
  nodes: { stop(): void };
  opened: Opened;
  log: Logger;
}

/** How long the jobs and the database may take to stop after the requests are complete, because either may hang. */
const CLOSE_DEADLINE_MS = 2_000;

async function close({ listeners, admin, worker, clients, nodes, opened, log }: Parts): Promise<void> {
  await atMost(DRAIN_DEADLINE_MS, Promise.all(listeners.map((each) => each.close())), () => {
    log.warn("open requests were cut off at the drain deadline");
    for (const each of listeners) each.cutOff();
  });
  admin?.close();
  admin?.closeAllConnections();
  // Abort the requests that jobs wait for. The jobs continue on other servers, or here after the next start.
  nodes.stop();
  const ended = Promise.all([worker.stop(), ...clients.map((client) => client.close())]).then(() =>
    opened.database.close(),
  );
  await atMost(CLOSE_DEADLINE_MS, ended, () => log.warn("the database was closed before it had answered everything"));
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

/** The text that a terminal shows after a start. */
export function banner(server: RunningServer, config: Config): string {
  const { baseUrl, consoleUrl, firstVisitUrl, isFirstStart } = server;
  const lines = [`Keystead ${version} is serving ${baseUrl}`, ""];
  if (isFirstStart) lines.push("This first start created an organization, a root user and an API key.");
  if (firstVisitUrl !== undefined) {
    lines.push(
      `To sign in with a passkey, open this link within ${durationText(FIRST_VISIT_MS)}: ${firstVisitUrl}`,
      "",
    );
  }
  return [
    ...lines,
    `Credentials:  ${credentialsFileIn(config.dataDir)}`,
    "Try first:    npx keystead call whoami",
    ...(consoleUrl === undefined ? [] : [`Console:      ${consoleUrl}`]),
    `API docs:     ${baseUrl}/docs`,
    ...(isHandbookBuilt() ? [`Handbook:     ${baseUrl}/handbook/`] : []),
    "",
  ].join("\n");
}
