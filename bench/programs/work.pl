# Hashes, regular expressions, sorting and subroutine calls.
use strict;
my $turns = shift;
my ($state, %seen, $sum) = (1);

sub word {
    $state = ($state * 1664525 + 1013904223) % 4294967296;
    return sprintf "w%x", $state % 5000;
}

for (1 .. $turns) {
    $seen{word()}++ for 1 .. 2000;
    my $text = join " ", map { "$_=$seen{$_}" } sort { $seen{$a} <=> $seen{$b} || $a cmp $b } keys %seen;
    $sum += $1 while $text =~ /w[0-9a-f]*7=(\d+)/g;
}
print "$sum\n";
