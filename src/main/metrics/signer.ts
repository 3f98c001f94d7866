import type { Registry } from "prom-client";
import type { SignerProcess } from "../../signer/client.ts";
import { countedElsewhere, gauge } from "./metrics.ts";

export function measureSigner(registry: Registry, signer: Pick<SignerProcess, "state" | "figures">): void {
  const figures = () => signer.figures;
  gauge(registry, "signer_ready", "1 while the signer can sign, 0 while it is down or sealed.", () =>
    signer.state === "ready" ? 1 : 0,
  );
  gauge(
    registry,
    "signer_queue_length",
    "Requests that wait for the signer, not counting those that it is working on.",
    () => figures().waiting,
  );
  countedElsewhere(
    registry,
    "signer_busy_seconds_total",
    "Time that the signer has spent working.",
    () => figures().busyMs / 1000,
  );
  countedElsewhere(
    registry,
    "signer_restarts_total",
    "How often the signer was lost and replaced.",
    () => figures().restarts,
  );
  countedElsewhere(
    registry,
    "signer_shed_total",
    "Requests refused because too much waited for the signer.",
    () => figures().shed,
  );
}
