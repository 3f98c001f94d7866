import { request } from "node:http";
import { connect } from "node:http2";
import { HEALTH_CHECK_TIMEOUT_MS, MAX_INTERIM_ANSWERS } from "../../kernel/limits.ts";
import type { Program } from "../runner.ts";

/** Whether a program reports that it is healthy: a status from 200 to 299 for `GET /health`, or by gRPC's health checking protocol. */
export async function isHealthy({ kind, port }: Program["healthCheck"], address: string): Promise<boolean> {
  try {
    return await (kind === "http" ? overHttp(address, port) : overGrpc(address, port));
  } catch {
    return false;
  }
}

function overHttp(host: string, port: number): Promise<boolean> {
  // A socket's timeout would start again with every byte.
  const signal = AbortSignal.timeout(HEALTH_CHECK_TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, path: "/health", agent: false, signal }, (response) => {
      const { statusCode = 0 } = response;
      response.destroy();
      resolve(statusCode >= 200 && statusCode < 300);
    });
    let interim = 0;
    // Without an end, they would hold up the checks of all other programs.
    asked.on("information", () => {
      if (++interim <= MAX_INTERIM_ANSWERS) return;
      reject(new Error("too many interim answers"));
      asked.destroy();
    });
    // An answer that switches protocols closes the connection without any other event.
    asked.on("close", () => reject(new Error("no answer")));
    asked.on("error", reject);
    asked.end();
  });
}

/** An empty HealthCheckRequest: uncompressed, zero bytes. */
const ASK = Buffer.alloc(5);
/** A HealthCheckResponse with the status SERVING. */
const SERVING = Buffer.of(0, 0, 0, 0, 2, 0x08, 0x01);

function overGrpc(host: string, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const session = connect(`http://${host}:${port}`);
    const late = setTimeout(() => session.destroy(new Error("timeout")), HEALTH_CHECK_TIMEOUT_MS);
    session.on("error", reject);
    session.on("close", () => {
      clearTimeout(late);
      resolve(false);
    });
    const stream = session.request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
      te: "trailers",
    });
    let answer = Buffer.alloc(0);
    stream.on("error", reject);
    stream.on("data", (chunk: Buffer) => {
      if (answer.length <= SERVING.length) answer = Buffer.concat([answer, chunk]);
    });
    stream.on("end", () => {
      resolve(answer.equals(SERVING));
      session.destroy();
    });
    stream.end(ASK);
  });
}
