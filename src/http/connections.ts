import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../kernel/ip-address.ts";
import { MAX_PIPELINED_REQUESTS, SMALL_MESSAGE_BYTES } from "../kernel/limits.ts";
import { msToReceive } from "../kernel/pace.ts";
import { discardRest } from "./pieces.ts";

export interface ConnectionBounds {
  maxConnections: number;
  /** For one IPv4 address, or one IPv6 network of 64 bits. */
  maxConnectionsPerAddress: number;
}

/** The state of a connection. In every state but `answering` it waits for the client, and may be closed to make room. */
type Phase = "silent" | "idle" | "receiving" | "answering";

/**
 * The order in which connections are closed to make room: those that never sent a whole request, those without a request, those in the
 * middle of one.
 */
const PHASES_THAT_WAIT = ["silent", "idle", "receiving"] as const;

type Exchange = [request: IncomingMessage, response: ServerResponse];

interface Connection {
  socket: Socket;
  origin: Origin;
  phase: Phase;
  /** The current request, or an answered one that has not arrived completely. */
  exchange: Exchange | undefined;
  /** Requests that arrived before the answer to the previous one was delivered. */
  pipelined: Exchange[];
  /** Fires when the client has not read the answer in time. */
  deadline: NodeJS.Timeout | undefined;
}

/** The connections of one address. Those that wait for the client are sorted by state, the longest waiting first. */
interface Origin {
  network: string;
  isProxy: boolean;
  count: number;
  silent: Set<Connection>;
  idle: Set<Connection>;
  receiving: Set<Connection>;
}

/**
 * The open connections of a listener. They are bounded in total and per address. Beyond that, a new connection replaces one that waits for
 * its client, at the address with the most connections. Each connection handles one request at a time and is closed if its client does not
 * read the answer, so that one connection makes the server hold at most one answer.
 */
export class Connections {
  readonly #bounds: ConnectionBounds;
  readonly #isProxy: (address: string | undefined) => boolean;
  readonly #onRefused: () => void;
  #openRequests = 0;
  readonly #bySocket = new Map<Socket, Connection>();
  readonly #origins = new Map<string, Origin>();

  /**
   * @param isProxy whether an address is a trusted proxy. Its connections, which serve many clients, count in total but not per address
   * @param onRefused called for each connection that was refused for lack of room
   */
  constructor(bounds: ConnectionBounds, isProxy: (address: string | undefined) => boolean, onRefused: () => void) {
    this.#bounds = bounds;
    this.#isProxy = isProxy;
    this.#onRefused = onRefused;
  }

  /** Requests that have started and whose answers the clients have not read yet. */
  get openRequests(): number {
    return this.#openRequests;
  }

  get count(): number {
    return this.#bySocket.size;
  }

  /** Accepts a new connection, or closes it if no other can make room. */
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

  /** Passes the requests of a connection to `handle` one at a time: each waits until the client has read the previous answer. */
  inTurn(
    handle: (request: IncomingMessage, response: ServerResponse) => void,
  ): (request: IncomingMessage, response: ServerResponse) => void {
    return (request, response) => {
      const connection = this.#bySocket.get(request.socket);
      // Node parses all bytes that have arrived, even those of a connection that was closed meanwhile.
      if (!connection) return;
      const isBusy = connection.phase === "receiving" || connection.phase === "answering";
      if (!isBusy) return this.#begin(connection, [request, response], handle);
      const { pipelined } = connection;
      // Node reads the body of the last one up to a bound, and those before it have arrived completely.
      const waitingBytes = pipelined.reduce((sum, [{ readableLength }]) => sum + readableLength, 0);
      const isTooMuch = pipelined.length >= MAX_PIPELINED_REQUESTS || waitingBytes > SMALL_MESSAGE_BYTES;
      if (isTooMuch) this.#cutOff(connection);
      else pipelined.push([request, response]);
    };
  }

  /** Records that the connection's request has arrived completely. From now on the client waits for the server. */
  hasArrived(socket: Socket): void {
    const connection = this.#bySocket.get(socket);
    if (connection?.phase === "receiving") this.#enter(connection, "answering");
  }

  /**
   * Whether arriving bytes do not belong to a request that waits for an answer: either the open request has arrived completely, even if its
   * end has not been read yet, or the bytes are the rest of a request that was answered early.
   */
  isAnswering(socket: Socket): boolean {
    const connection = this.#bySocket.get(socket);
    if (!connection?.exchange) return false;
    const { phase, exchange } = connection;
    const [request, response] = exchange;
    if (phase === "idle") return !request.complete;
    return phase === "answering" || request.complete || response.headersSent;
  }

  /** Closes the connections without an open request. */
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

  /** The address with the most connections, among those that can give one up. Proxies come last. */
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
    response.once("prefinish", () => {
      discardRest(request);
      this.#expectTaken(connection);
    });
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

  /** The whole answer is in the socket. The client must read what remains in time. */
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
