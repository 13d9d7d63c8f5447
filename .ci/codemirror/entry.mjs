// What the studio's page uses of CodeMirror: bundled into augrecipes/studio/page/vendor/codemirror.js by remake.py.
export {EditorState, Transaction} from "@codemirror/state"
export {drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers, tooltips} from "@codemirror/view"
export {defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory, redo, undo} from "@codemirror/commands"
export {
  bracketMatching, ensureSyntaxTree, foldGutter, foldKeymap, indentOnInput, indentUnit, syntaxHighlighting, syntaxTree,
} from "@codemirror/language"
export {autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap} from "@codemirror/autocomplete"
export {forEachDiagnostic, lintGutter, lintKeymap, nextDiagnostic, setDiagnostics} from "@codemirror/lint"
export {highlightSelectionMatches, search, searchKeymap} from "@codemirror/search"
export {yaml} from "@codemirror/lang-yaml"
export {classHighlighter} from "@lezer/highlight"
