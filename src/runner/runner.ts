/**
 * The interface for running the programs of deployments. Today they are processes on this machine; containers and enclaves would implement
 * it too.
 */

/** A program to run, and how many replicas of it. */
export interface Program {
  deploymentId: string;
  /** The path of its file. */
  file: string;
  /** The SHA-256 of the file, in hex. A file with another digest is never started. */
  digest: string;
  args: readonly string[];
  replicas: number;
  healthCheck: { kind: "http" | "grpc"; port: number };
  publicIngressPort: number;
  /** The quorum key that its replicas receive. They start only when it is complete. Missing for a program without one. */
  quorumKey?: AwaitedQuorumKey;
}

/** A quorum key, and the shares that operators have submitted so far. */
export interface AwaitedQuorumKey {
  /** Hex. The program never receives another key. */
  publicKey: string;
  threshold: number;
  /** The shares: each in hex, encrypted to the key that the runner created for the deployment, with the SHA-256 of the plaintext share. */
  shares: readonly { share: string; digest: string }[];
}

/** The progress of a deployment whose program receives a quorum key. */
export interface ProvisioningState {
  /**
   * The key to which shares are encrypted: an uncompressed point of P-256, hex. The runner creates it at each start, and its secret never
   * leaves the runner.
   */
  ephemeralPublicKey: string;
  isProvisioned: boolean;
  /** How many of the submitted shares are not shares of the quorum key. */
  wrongShares: number;
}

export interface Replica {
  /** Starts at 1. */
  number: number;
  /** The IPv4 address on which it listens. */
  address: string;
  /** Whether it is running and the last health check succeeded. */
  isReady: boolean;
  /** Undefined while it is not running. */
  pid: number | undefined;
  /** How many times it was restarted. */
  restarts: number;
}

/** A line of a replica's output. */
export interface LogEntry {
  replica: number;
  content: string;
  /** In milliseconds. */
  at: number;
}

export interface Runner {
  /**
   * Runs exactly these programs, starting and stopping replicas as necessary.
   *
   * @throws Error if they do not fit into one message; the previous programs keep running
   */
  run(programs: readonly Program[]): void;
  /** The replicas of a deployment. Undefined if it is not running. */
  replicasOf(deploymentId: string): readonly Replica[] | undefined;
  /** The state of a deployment whose program receives a quorum key. Undefined for others. */
  provisioningOf(deploymentId: string): ProvisioningState | undefined;
  /**
   * The last lines of all replicas, sorted by time; of these the newest, up to `MAX_SHOWN_LOG_BYTES`.
   *
   * @param tailLines how many lines of each replica; 0 for all that are stored
   */
  logsOf(deploymentId: string, tailLines: number): Promise<readonly LogEntry[]>;
  /** Stops all programs. */
  close(): Promise<void>;
}
