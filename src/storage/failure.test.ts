import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { KeysteadError } from "../kernel/errors.ts";
import { DatabaseFailure, type FailureKind, translate } from "./failure.ts";

const kindOf = (error: unknown): FailureKind => {
  const translated = translate(error);
  assert.ok(translated instanceof DatabaseFailure);
  return translated.kind;
};

const withCode = (code: string) => Object.assign(new Error("of a driver"), { code });
const withErrcode = (errcode: number) => Object.assign(new Error("of SQLite"), { errcode, code: "ERR_SQLITE_ERROR" });

/** Codes of PostgreSQL (appendix A of its manual), of the network, and of SQLite (sqlite.org/rescode.html). */
const cases: Record<FailureKind, unknown[]> = {
  retry: [
    ...["40001", "40P01", "26000"].map(withCode),
    Object.assign(new Error("zwischengespeicherter Plan"), { code: "0A000", file: "plancache.c" }),
  ],
  outage: [
    // Connection exceptions, wrong user or password, no such database, too many clients, shutdown, a standby, time limits.
    ...["08000", "08003", "08006", "28000", "28P01", "3D000", "53300", "57P01", "57P02", "57P03", "57P05"].map(
      withCode,
    ),
    ...["25006", "25P03", "25P04", "55000", "55006"].map(withCode),
    ...["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ENOTFOUND", "EAI_AGAIN", "ENOENT"].map(withCode),
    ...["EHOSTUNREACH", "ENETUNREACH", "ECONNABORTED", "EMFILE"].map(withCode),
    // Node's errors of certificates and of TLS.
    ...["CERT_HAS_EXPIRED", "DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "EPROTO"].map(withCode),
    ...["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "ERR_TLS_CERT_ALTNAME_INVALID", "ERR_SSL_WRONG_VERSION_NUMBER"].map(
      withCode,
    ),
    new Error("The server does not support SSL connections"),
    Object.assign(new Error("no more connections allowed (max_client_conn)"), { code: "08P01" }),
    new Error("Connection terminated unexpectedly"),
    new Error("Connection terminated due to connection timeout"),
    new Error("timeout exceeded when trying to connect"),
    new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string"),
    Object.assign(new AggregateError([withCode("ECONNREFUSED")]), { code: "ECONNREFUSED" }),
  ],
  unavailable: [
    // A full disk, memory, a missing privilege, a statement's timeout, system errors, errors of the server itself.
    ...["53100", "53200", "42501", "57014", "55P03", "58030", "XX000", "XX001"].map(withCode),
    // SQLITE_BUSY, LOCKED, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB, and extended codes: BUSY_SNAPSHOT, IOERR_WRITE.
    ...[5, 6, 8, 10, 11, 13, 14, 26, 517, 778].map(withErrcode),
    withCode("EROFS"),
    new Error("Query read timeout"),
    // Poolers use one code for everything that they do not support.
    withCode("42P05"),
    Object.assign(new Error("unsupported startup parameter: statement_timeout"), { code: "08P01" }),
    Object.assign(new Error("transaction blocks not allowed in statement pooling mode"), { code: "08P01" }),
  ],
  lost: [],
  bug: [
    ...["23505", "23503", "23502", "42601", "42P01", "22P02", "25P02", "0A000"].map(withCode),
    // SQLITE_ERROR, CONSTRAINT, MISMATCH, CONSTRAINT_PRIMARYKEY
    ...[1, 19, 20, 1555].map(withErrcode),
    new TypeError("of our own"),
    "not even an error",
    Object.assign(new Error("no code of a database"), { code: "ERR_INVALID_ARG_TYPE" }),
  ],
};

describe("failures of databases", () => {
  for (const [kind, errors] of Object.entries(cases)) {
    it(`${kind}: ${errors.length} cases`, () => {
      for (const error of errors) assert.equal(kindOf(error), kind, JSON.stringify(error) + String(error));
    });
  }

  it("are told from a real SQLite", () => {
    const database = new DatabaseSync(":memory:");
    database.exec("create table t (id integer primary key) strict; insert into t values (1)");
    const thrownBy = (sql: string): unknown => {
      try {
        database.exec(sql);
      } catch (error) {
        return error;
      }
      return assert.fail("nothing was thrown");
    };
    assert.equal(kindOf(thrownBy("insert into t values (1)")), "bug");
    assert.equal(kindOf(thrownBy("select from")), "bug");
    database.exec("pragma max_page_count = 1");
    assert.equal(kindOf(thrownBy("create table u (id integer)")), "unavailable");
    database.close();
  });

  it("of a disk that is read-only are told as that, with the remedy", () => {
    const { kind, reason } = translate(withCode("EROFS")) as DatabaseFailure;
    assert.deepEqual([kind, reason], ["unavailable", "is on a read-only disk: find out why, and mount it for writing"]);
  });

  it("of PostgreSQL's own files are told from those of its users' rights, whatever language it speaks", () => {
    const denied = (file: string, text: string) => Object.assign(new Error(text), { code: "42501", file });
    const { kind, reason } = translate(
      denied("md.c", "konnte Datei »base/5/1259« nicht öffnen: Das Dateisystem ist nur lesbar"),
    ) as DatabaseFailure;
    assert.equal(kind, "unavailable");
    assert.match(reason, /^cannot open or write files of its own: its disk is read-only, or /);
    for (const error of [denied("aclchk.c", "keine Berechtigung für Tabelle users"), withCode("42501")]) {
      assert.match((translate(error) as DatabaseFailure).reason, /does not allow the user/);
    }
  });

  it("keep the driver's error as their cause", () => {
    const cause = withCode("40001");
    const failure = translate(cause) as DatabaseFailure;
    assert.equal(failure.cause, cause);
    assert.equal(failure.message, "database: of a driver");
  });

  it("leave errors alone that are known already", () => {
    const known = [new KeysteadError("DATABASE_UNAVAILABLE", {}, []), new DatabaseFailure("retry", "x")];
    for (const error of known) assert.equal(translate(error), error);
  });
});
