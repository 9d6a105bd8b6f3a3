// What of the page is open: dialogs, the message being edited, the raw text. One place, so that buttons, menus and keys agree.
export type DialogName = 'search' | 'settings' | 'shortcuts' | 'branches';
export type SettingsPage = 'general' | 'parameters' | 'presets' | 'data';

class View {
  dialog = $state<DialogName | null>(null);
  settingsPage = $state<SettingsPage>('general');
  // The chat list as a drawer, on narrow screens.
  drawer = $state(false);
  editing = $state<string | null>(null);
  raw = $state<string | null>(null);
  finding = $state(false);
  picking = $state(false);
  // The message to scroll to once its chat is open, as from the search.
  goal = $state<string | null>(null);

  settings(page: SettingsPage) {
    this.settingsPage = page;
    this.dialog = 'settings';
  }
}

export const view = new View();
