import { Button, Group, Select, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type SyntheticEvent, useState } from "react";
import type { RequestOf } from "../api/api.ts";
import { usePages } from "../api/pages.ts";
import { readSubOrganizations, type SubOrganizationName } from "../api/sub-organizations.ts";
import { Page } from "../parts/page.tsx";
import { type CellsOf, PagedTable } from "../parts/paged-table.tsx";
import { Copyable, Name } from "../parts/texts.tsx";

type Filter = NonNullable<RequestOf<"list_suborgs">["filterType"]>;

const FILTERS = [
  { value: "NAME", label: "Name" },
  { value: "USERNAME", label: "User's name" },
  { value: "EMAIL", label: "User's email" },
  { value: "PHONE_NUMBER", label: "User's phone number" },
  { value: "PUBLIC_KEY", label: "Public key" },
  { value: "CREDENTIAL_ID", label: "Passkey's ID" },
  { value: "WALLET_ACCOUNT_ADDRESS", label: "Address" },
] as const satisfies readonly { value: Filter; label: string }[];

interface Sought {
  filterType: Filter;
  filterValue: string;
}

const cellsOf: CellsOf<SubOrganizationName> = ({ id, name }) => [
  <Link key="link" to="/sub-organizations/$subOrganizationId" params={{ subOrganizationId: id }}>
    <Name>{name}</Name>
  </Link>,
  <Copyable key="id" text={id} label="organization id" />,
];

const itemsOf = (page: readonly SubOrganizationName[]) => page;
const keyOf = ({ id }: SubOrganizationName) => id;

/** All of them, newest first, or those with a certain user or credential: searched and paged by the server. */
export function SubOrganizations() {
  const [sought, setSought] = useState<Sought>({ filterType: "", filterValue: "" });
  const list = usePages(
    ["sub-organizations", sought],
    (api, paginationOptions) =>
      readSubOrganizations(api, { ...(sought.filterValue === "" ? {} : sought), paginationOptions }),
    ({ id }) => id,
  );
  return (
    <Page title="Sub-organizations">
      <SearchForm onSearch={setSought} />
      <PagedTable
        list={list}
        caption="Sub-organizations"
        head={["Sub-organization", "Id"]}
        itemsOf={itemsOf}
        keyOf={keyOf}
        cellsOf={cellsOf}
        empty={
          sought.filterValue === "" ? "There are no sub-organizations yet." : "No sub-organization has exactly that."
        }
        more="Show older"
        finder="The search above covers all of them."
      />
    </Page>
  );
}

function SearchForm({ onSearch }: { onSearch: (sought: Sought) => void }) {
  const [filterType, setType] = useState<Filter>("NAME");
  const [filterValue, setValue] = useState("");
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onSearch({ filterType, filterValue: filterValue.trim() });
  };
  return (
    <form onSubmit={submit}>
      <Group align="flex-end">
        <Select
          label="Search by"
          data={FILTERS}
          value={filterType}
          onChange={(value) => setType(value as Filter)}
          allowDeselect={false}
        />
        <TextInput
          label="Exactly this"
          value={filterValue}
          onChange={(event) => setValue(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          miw={280}
        />
        <Button type="submit" variant="default">
          Search
        </Button>
      </Group>
    </form>
  );
}
