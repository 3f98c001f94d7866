import type { IncomingHttpHeaders } from "node:http";

/** What the parts of the server give to the listener: routes, and how they answer. */

/** A request whose headers have arrived. */
export interface RequestHead {
  /** The request id in the log and in error answers. */
  id: string;
  /** Without the query. */
  path: string;
  headers: IncomingHttpHeaders;
  /** The client's IP address behind the trusted proxies. Undefined if unknown. */
  remoteAddress: string | undefined;
  /** Whether the client still waits for the answer. */
  isWanted: () => boolean;
  /** Adds facts to the request's line in the log. Only identifiers and outcomes, no secrets. */
  note(facts: Record<string, string>): void;
}

/** The answer of a route. */
export interface RouteAnswer {
  /** By default 200. */
  status?: number;
  /** The content type is JSON by default. */
  headers?: Record<string, string>;
  body: string | Buffer;
  /** Whether all answers share these bytes, so that another answer takes no memory. */
  isShared?: boolean;
  /** Whether other pages may show the answer in a frame: those that its own policy allows. */
  isFramed?: boolean;
}

export interface Route {
  method: "GET" | "POST";
  /** As in the request line, without the query. A trailing `*` matches any rest. */
  path: string;
  /**
   * The name in the log and in metrics. Requests to a route without a name are logged at the level `debug` and not counted, unless they
   * fail.
   */
  operation?: string;
  /**
   * Checks a request before its body is read. An error that it throws is the answer. The returned function answers the complete request;
   * for GET the body is empty.
   */
  accept(head: RequestHead): (body: Buffer) => RouteAnswer | Promise<RouteAnswer>;
}

/** A group of routes on the listener. */
export interface Mount {
  routes: readonly Route[];
  /** Any web page may send requests to paths below this one, such as `/public/`, including unknown ones. */
  anyOriginBelow?: string;
  /** Below this path, CORS headers name the origin of the page that sends a request, and the route decides whether to allow it. */
  echoedOriginBelow?: string;
}
