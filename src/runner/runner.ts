/** Whatever runs the programs of deployments: processes of this machine today; containers and enclaves have the same to offer. */

/** A program that is to run, so often. */
export interface Program {
  deploymentId: string;
  /** Where its bytes are ... */
  file: string;
  /** ... and their SHA-256, hex: another program is never started. */
  digest: string;
  args: readonly string[];
  replicas: number;
  healthCheck: { kind: "http" | "grpc"; port: number };
  publicIngressPort: number;
  /** The key that its replicas are handed, without which none is started; absent for a program that needs none. */
  quorumKey?: AwaitedQuorumKey;
}

/** A quorum key, and what operators have handed in of it so far. */
export interface AwaitedQuorumKey {
  /** Hex: another key is never handed to a program. */
  publicKey: string;
  threshold: number;
  /** Each encrypted to the key that the runner made for the deployment, hex, and the SHA-256 of the share. */
  shares: readonly { share: string; digest: string }[];
}

/** How far a deployment is whose program is handed a quorum key. */
export interface ProvisioningState {
  /** To encrypt shares to: an uncompressed point of P-256, hex. It is made at each start of the runner, which keeps its secret. */
  ephemeralPublicKey: string;
  isProvisioned: boolean;
  /** How many of the shares that it was told are not those of the key. */
  wrongShares: number;
}

export interface Replica {
  /** From 1. */
  number: number;
  /** Where it listens, IPv4. */
  address: string;
  /** Whether it is up and said that it is healthy when it was asked last. */
  isReady: boolean;
  /** Undefined while it is down. */
  pid: number | undefined;
  /** How often it was started again. */
  restarts: number;
}

/** A line that a replica wrote. */
export interface LogEntry {
  replica: number;
  content: string;
  /** Milliseconds. */
  at: number;
}

export interface Runner {
  /**
   * It runs these programs and no others: it starts and stops what it takes.
   *
   * @throws Error where they are too much to be told; what ran before runs on
   */
  run(programs: readonly Program[]): void;
  /** What it runs, by deployment; undefined for what it does not. */
  replicasOf(deploymentId: string): readonly Replica[] | undefined;
  /** Of what it runs, for programs that are handed a quorum key; undefined for others. */
  provisioningOf(deploymentId: string): ProvisioningState | undefined;
  /**
   * The last lines of all replicas, in the order of their times; the newest `MAX_SHOWN_LOG_BYTES` of them.
   *
   * @param tailLines so many of each replica; 0 for all that are kept
   */
  logsOf(deploymentId: string, tailLines: number): Promise<readonly LogEntry[]>;
  /** Stops all programs. */
  close(): Promise<void>;
}
