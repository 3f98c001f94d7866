import { type CSSVariablesResolver, createTheme } from "@mantine/core";

/** Shades whose contrast with what is on them is at least 4.5 to 1 (WCAG 2.2, 1.4.3). */
export const theme = createTheme({
  colors: {
    lagoon: [
      "#e3f7fa",
      "#c9edf3",
      "#9fdde8",
      "#6ecbda",
      "#3fb8cb",
      "#1f9fb3",
      "#12869a",
      "#0c7082",
      "#0a6273",
      "#08525f",
    ],
  },
  primaryColor: "lagoon",
  primaryShade: { light: 8, dark: 8 },
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    // Its heading is no banner of the page.
    Modal: { defaultProps: { attributes: { header: { role: "presentation" } } } },
    // Whoever goes past one by the keyboard has not asked for its choices, which would cover what is below, and take the Escape that closes a dialog.
    Select: { defaultProps: { openOnFocus: false } },
    MultiSelect: { defaultProps: { openOnFocus: false } },
  },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#565e66",
    "--mantine-color-error": "#c92a2a",
    "--mantine-color-placeholder": "#6b737b",
    "--mantine-color-anchor": "#0a6273",
  },
  dark: {
    "--mantine-color-dimmed": "#a6adb4",
    "--mantine-color-error": "#ff9c9c",
    "--mantine-color-placeholder": "#9aa1a8",
    "--mantine-color-anchor": "#6ecbda",
  },
});
