import { setTimeout as sleep } from "node:timers/promises";
import {
  FOLDER_CHECK_EVERY_MS,
  MAX_RUN_DEPLOYMENTS,
  PROGRAM_FOLDER_BYTES,
  PROGRAM_FOLDER_ENTRIES,
} from "../../kernel/limits.ts";
import type { ProcessSettings } from "../protocol.ts";
import type { LogEntry, Program, ProvisioningState, Replica } from "../runner.ts";
import { endLeftovers, endUser, noteUser } from "./leftovers.ts";
import { newestOf } from "./log.ts";
import { QuorumKeyReceiver } from "./quorum-key-receiver.ts";
import { SupervisedReplica } from "./replica.ts";

type Tell = (states: {
  deployments: Record<string, readonly Replica[]>;
  provisioning: Record<string, ProvisioningState>;
}) => void;

const FOLDER_BOUND = { bytes: PROGRAM_FOLDER_BYTES, entries: PROGRAM_FOLDER_ENTRIES };

interface Running {
  program: Program;
  /** The slot that determines its addresses and its user. */
  slot: number;
  replicas: SupervisedReplica[];
  /** For a program with a quorum key. */
  receiver: QuorumKeyReceiver | undefined;
  isStarted: boolean;
}

/** Keeps exactly the programs running that the last message named. */
export class Supervisor {
  readonly #settings: ProcessSettings;
  readonly #tell: Tell;
  readonly #running = new Map<string, Running>();
  /** Deployments that are being stopped, by id. Their folders, addresses and users are not free yet. */
  readonly #stopping = new Map<string, { slot: number; stopped: Promise<void> }>();
  readonly #ready: Promise<void>;
  #wanted: readonly Program[] = [];
  #isStopping = false;

  constructor(settings: ProcessSettings, tell: Tell) {
    this.#settings = settings;
    this.#tell = tell;
    this.#ready = endLeftovers(settings.directory);
    void this.#watchFolders();
  }

  run(programs: readonly Program[]): void {
    this.#wanted = programs;
    void this.#ready.then(() => this.#settle());
  }

  /** @see Runner.logsOf */
  logsOf(deploymentId: string, tailLines: number): LogEntry[] {
    const replicas = this.#running.get(deploymentId)?.replicas ?? [];
    return newestOf(replicas.flatMap((replica) => replica.log.last(tailLines)).sort((a, b) => a.at - b.at));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#wanted = [];
    await this.#ready;
    this.#settle();
    await Promise.all([...this.#stopping.values()].map(({ stopped }) => stopped));
  }

  #settle(): void {
    const wanted = new Map(this.#wanted.map((program) => [program.deploymentId, program]));
    for (const [id, running] of this.#running) {
      if (!wanted.has(id)) this.#end(id, running);
    }
    for (const program of wanted.values()) {
      const { deploymentId } = program;
      // If the program is being stopped, it starts again after that.
      if (!this.#running.has(deploymentId) && !this.#stopping.has(deploymentId)) this.#begin(program);
      const running = this.#running.get(deploymentId);
      if (running) startIfReady(running, program);
    }
    this.#report();
  }

  #begin(program: Program): void {
    const taken = new Set([...this.#running.values(), ...this.#stopping.values()].map(({ slot }) => slot));
    const slot = Array.from({ length: MAX_RUN_DEPLOYMENTS }, (_, index) => index).find((each) => !taken.has(each));
    if (slot === undefined) return;
    const { directory } = this.#settings;
    const uid = this.#userOf(slot);
    if (uid !== undefined) noteUser(directory, uid);
    const receiver = program.quorumKey && new QuorumKeyReceiver();
    const replicas = Array.from(
      { length: program.replicas },
      (_, index) =>
        new SupervisedReplica({
          program,
          number: index + 1,
          address: `127.0.${slot}.${index + 1}`,
          directory,
          uid,
          folderBound: FOLDER_BOUND,
          quorumKey: () => receiver?.seed,
          onChange: () => this.#report(),
        }),
    );
    this.#running.set(program.deploymentId, { program, slot, replicas, receiver, isStarted: false });
  }

  #end(id: string, { slot, replicas, receiver }: Running): void {
    this.#running.delete(id);
    const stopped = this.#stop(slot, replicas).then(() => {
      receiver?.forget();
      this.#stopping.delete(id);
      this.#settle();
    });
    this.#stopping.set(id, { slot, stopped });
  }

  async #stop(slot: number, replicas: readonly SupervisedReplica[]): Promise<void> {
    await Promise.all(replicas.map((replica) => replica.stop()));
    const uid = this.#userOf(slot);
    if (uid !== undefined) await endUser(this.#settings.directory, uid);
    await Promise.all(replicas.map((replica) => replica.clear()));
  }

  /** Checks one folder at a time, so that programs with many files delay only the next check, and not the health checks of others. */
  async #watchFolders(): Promise<void> {
    while (!this.#isStopping) {
      const replicas = [...this.#running.values()].flatMap((running) => running.replicas);
      for (const replica of replicas) await replica.checkFolder();
      await sleep(FOLDER_CHECK_EVERY_MS, undefined, { ref: false });
    }
  }

  #userOf(slot: number): number | undefined {
    const { firstUid } = this.#settings;
    return firstUid === undefined ? undefined : firstUid + slot;
  }

  #report(): void {
    const running = [...this.#running];
    this.#tell({
      deployments: Object.fromEntries(running.map(([id, { replicas }]) => [id, replicas.map(({ state }) => state)])),
      provisioning: Object.fromEntries(
        running.flatMap(([id, { receiver }]) => (receiver ? [[id, receiver.state] as const] : [])),
      ),
    });
  }
}

/** A program with a quorum key does not start until the key is complete. */
function startIfReady(running: Running, { quorumKey }: Program): void {
  const { receiver, replicas } = running;
  if (running.isStarted || (receiver && !(quorumKey && receiver.take(quorumKey)))) return;
  running.isStarted = true;
  for (const replica of replicas) replica.start();
}
