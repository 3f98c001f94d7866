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
  retry: [withCode("40001"), withCode("40P01")],
  unavailable: [
    ...["08000", "08003", "08006", "53100", "53200", "53300", "57014", "57P01", "57P02", "57P03", "25006"].map(
      withCode,
    ),
    ...["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ENOTFOUND", "EAI_AGAIN", "ENOENT"].map(withCode),
    // SQLITE_BUSY, LOCKED, READONLY, IOERR, FULL, CANTOPEN, and extended codes: BUSY_SNAPSHOT, IOERR_WRITE, READONLY_DBMOVED.
    ...[5, 6, 8, 10, 13, 14, 517, 778, 1032].map(withErrcode),
    new Error("Connection terminated unexpectedly"),
    new Error("Connection terminated due to connection timeout"),
    new Error("timeout exceeded when trying to connect"),
    new Error("Query read timeout"),
  ],
  bug: [
    ...["23505", "23503", "23502", "42601", "42P01", "22P02", "25P02"].map(withCode),
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
