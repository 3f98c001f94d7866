import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../kernel/ip-address.ts";
import { MAX_PIPELINED_REQUESTS } from "../kernel/limits.ts";
import { msToReceive } from "../kernel/pace.ts";

export interface ConnectionBounds {
  maxConnections: number;
  /** Of one IPv4 address, or one IPv6 network of 64 bits. */
  maxConnectionsPerAddress: number;
}

/** What a connection is doing; all but `answering` wait for the client, and may have to make room. */
type Phase = "silent" | "idle" | "receiving" | "answering";

/** Who makes room first: who never sent a whole request, then who sends none now, then who has not sent all of one. */
const PHASES_THAT_WAIT = ["silent", "idle", "receiving"] as const;

type Exchange = [request: IncomingMessage, response: ServerResponse];

interface Connection {
  socket: Socket;
  origin: Origin;
  phase: Phase;
  /** The one that has its turn, or had it last if not all of its request has come. */
  exchange: Exchange | undefined;
  /** Requests that arrived before the answer to the one ahead of them was taken. */
  pipelined: Exchange[];
  /** When the client must have taken the answer. */
  deadline: NodeJS.Timeout | undefined;
}

/** The connections of one address; those that wait for the client by what for, the longest waiting first. */
interface Origin {
  network: string;
  isProxy: boolean;
  count: number;
  silent: Set<Connection>;
  idle: Set<Connection>;
  receiving: Set<Connection>;
}

/**
 * The open connections of a listener. There are so many at most, in all and from one address; past that, those that wait for
 * their clients make room for new ones, of the address that has the most. Each connection is answered one request at a time,
 * and is cut off if its client does not take the answer. So what one connection can make the server hold is one answer.
 */
export class Connections {
  readonly #bounds: ConnectionBounds;
  readonly #isProxy: (address: string | undefined) => boolean;
  readonly #onRefused: () => void;
  #openRequests = 0;
  readonly #bySocket = new Map<Socket, Connection>();
  readonly #origins = new Map<string, Origin>();

  /**
   * @param isProxy one speaks for many clients: its connections count in all, but not as those of one address
   * @param onRefused told of each connection for which there was no room
   */
  constructor(bounds: ConnectionBounds, isProxy: (address: string | undefined) => boolean, onRefused: () => void) {
    this.#bounds = bounds;
    this.#isProxy = isProxy;
    this.#onRefused = onRefused;
  }

  /** Requests that have begun and whose answer was not taken yet. */
  get openRequests(): number {
    return this.#openRequests;
  }

  get count(): number {
    return this.#bySocket.size;
  }

  /** Takes in a new connection, or ends it if none can make room for it. */
  add(socket: Socket): void {
    const network = networkOf(socket.remoteAddress ?? "");
    const known = this.#origins.get(network);
    const { maxConnections, maxConnectionsPerAddress } = this.#bounds;
    const isOver = known !== undefined && !known.isProxy && known.count >= maxConnectionsPerAddress;
    const full = isOver ? known : this.count >= maxConnections ? this.#largest() : undefined;
    const hasRoom = full ? this.#makeRoom(full) : this.count < maxConnections;
    if (!hasRoom) {
      this.#onRefused();
      socket.destroy();
      return;
    }
    const origin = this.#origins.get(network) ?? this.#newOrigin(network, this.#isProxy(socket.remoteAddress));
    const connection: Connection = {
      socket,
      origin,
      phase: "silent",
      exchange: undefined,
      pipelined: [],
      deadline: undefined,
    };
    origin.count++;
    origin.silent.add(connection);
    this.#bySocket.set(socket, connection);
    socket.once("close", () => this.#remove(connection));
  }

  /** Hands requests to `handle` in turn: the next of a connection waits until the answer before it has been taken. */
  inTurn(
    handle: (request: IncomingMessage, response: ServerResponse) => void,
  ): (request: IncomingMessage, response: ServerResponse) => void {
    return (request, response) => {
      const connection = this.#bySocket.get(request.socket);
      // Node parses all that has arrived at once; of a connection that was cut off meanwhile nothing counts.
      if (!connection) return;
      const isBusy = connection.phase === "receiving" || connection.phase === "answering";
      if (!isBusy) this.#begin(connection, [request, response], handle);
      else if (connection.pipelined.push([request, response]) > MAX_PIPELINED_REQUESTS) this.#cutOff(connection);
    };
  }

  /** The request of this connection has arrived whole: from now on the client waits for the server. */
  hasArrived(socket: Socket): void {
    const connection = this.#bySocket.get(socket);
    if (connection?.phase === "receiving") this.#enter(connection, "answering");
  }

  /**
   * Whether what arrives is no request that waits for an answer: one is open of which all has come, be it that nobody has read its end
   * yet, or it is the rest of one that was answered without.
   */
  isAnswering(socket: Socket): boolean {
    const connection = this.#bySocket.get(socket);
    if (!connection?.exchange) return false;
    const { phase, exchange } = connection;
    const [request, response] = exchange;
    if (phase === "idle") return !request.complete;
    return phase === "answering" || request.complete || response.headersSent;
  }

  /** Ends the connections on which no request is open. */
  closeUnused(): void {
    for (const connection of [...this.#bySocket.values()]) {
      if (connection.phase === "silent" || connection.phase === "idle") this.#cutOff(connection);
    }
  }

  #newOrigin(network: string, isProxy: boolean): Origin {
    const origin = { network, isProxy, count: 0, silent: new Set<Connection>(), idle: new Set<Connection>() };
    const withAll: Origin = { ...origin, receiving: new Set<Connection>() };
    this.#origins.set(network, withAll);
    return withAll;
  }

  /** The address with the most connections of those that have one to give; proxies after all others. */
  #largest(): Origin | undefined {
    let largest: Origin | undefined;
    for (const origin of this.#origins.values()) {
      if (!PHASES_THAT_WAIT.some((phase) => origin[phase].size > 0)) continue;
      const isLarger =
        !largest ||
        (largest.isProxy === origin.isProxy ? origin.count > largest.count : largest.isProxy && !origin.isProxy);
      if (isLarger) largest = origin;
    }
    return largest;
  }

  #makeRoom(origin: Origin): boolean {
    for (const phase of PHASES_THAT_WAIT) {
      for (const connection of origin[phase]) {
        this.#cutOff(connection);
        return true;
      }
    }
    return false;
  }

  #begin(
    connection: Connection,
    exchange: Exchange,
    handle: (request: IncomingMessage, response: ServerResponse) => void,
  ): void {
    const [request, response] = exchange;
    this.#enter(connection, "receiving");
    connection.exchange = exchange;
    this.#openRequests++;
    response.once("prefinish", () => this.#expectTaken(connection));
    response.once("close", () => {
      this.#openRequests--;
      clearTimeout(connection.deadline);
      if (!this.#bySocket.has(connection.socket)) return;
      this.#enter(connection, "idle");
      if (request.complete) connection.exchange = undefined;
      const next = connection.pipelined.shift();
      if (next) this.#begin(connection, next, handle);
    });
    handle(request, response);
  }

  /** The whole answer was handed to the socket; what the network did not take at once must be gone in time. */
  #expectTaken(connection: Connection): void {
    const { socket } = connection;
    if (socket.writableLength === 0) return;
    connection.deadline = setTimeout(() => this.#cutOff(connection), msToReceive(socket.writableLength)).unref();
  }

  #enter(connection: Connection, phase: Phase): void {
    const { origin } = connection;
    if (connection.phase !== "answering") origin[connection.phase].delete(connection);
    connection.phase = phase;
    if (phase !== "answering") origin[phase].add(connection);
  }

  #cutOff(connection: Connection): void {
    this.#remove(connection);
    connection.socket.destroy();
  }

  #remove(connection: Connection): void {
    const { socket, origin } = connection;
    if (!this.#bySocket.delete(socket)) return;
    clearTimeout(connection.deadline);
    this.#enter(connection, "answering");
    connection.pipelined = [];
    origin.count--;
    if (origin.count === 0) this.#origins.delete(origin.network);
  }
}
